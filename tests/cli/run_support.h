// What the tests of `plimsoll train` share: a small run, its files, and faults to meet.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

#include "format/safetensors.h"
#include "tests/cli/program.h"
#include "tests/support/image_folder.h"
#include "tests/support/sanitized.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll {

inline std::string last_weights(const std::filesystem::path& run) {
  return content(run / "weights" / "last.safetensors");
}

// results.csv without the columns that time decides.
inline std::string lasting_results(const std::filesystem::path& run) {
  std::istringstream lines(content(run / "results.csv"));
  std::string text;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream cells(line);
    std::string cell;
    for (int i = 0; std::getline(cells, cell, ','); ++i)
      if (i != 2 && i < 8) text += cell + ",";
    text += "\n";
  }
  return text;
}

// 3 classes of 16 pictures, 36 of them to train on; a run of 5 epochs has 60 steps.
class SmallRuns : public ::testing::Test {
 protected:
  std::filesystem::path out(const std::string& name) const { return folder_.path() / name; }
  std::string words(const std::string& name, const std::string& more = "") const {
    return "train " + images_.folder().path().string() +
           " --model inception_mini --image 20 --batch 3 --epochs 5 --val-split 0.25 "
           "--augment horizontal_flip --optimizer adam --lr 1e-3 --threads 1 --quiet --out " +
           out(name).string() + " " + more;
  }
  Outcome train(const std::string& name, const std::string& more = "",
                const std::string& before = "") const {
    return run_program(words(name, more), before);
  }
  // Words before the program that make a file fault happen to it.
  static std::string faults(const std::string& settings) {
    return "env LD_PRELOAD=" PLIMSOLL_FILE_FAULTS " " + settings + " ";
  }

  const ImageFolder images_{3, 16};
  const TemporaryFolder folder_;
};

inline void expect_sound_checkpoint(const std::filesystem::path& run) {
  const std::filesystem::path path = run / "weights" / "last.safetensors";
  if (!std::filesystem::exists(path)) return;
  std::vector<std::byte> buffer(65536);
  EXPECT_NO_THROW(SafetensorsReader(path).verify(buffer));
}

// The program in the background, its output in a file.
class Background {
 public:
  Background(const std::string& arguments, std::filesystem::path output,
             const std::string& before = "", const std::string& program = PLIMSOLL_PROGRAM)
      : output_(std::move(output)), pid_(::fork()) {
    if (pid_ != 0) return;
    const std::string command =
        "exec " + before + program + " " + arguments + " >" + output_.string() + " 2>&1";
    ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    ::_exit(127);
  }
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;
  ~Background() {
    if (pid_ > 0) {
      signal(SIGKILL);
      wait();
    }
  }

  pid_t pid() const { return pid_; }
  void signal(int number) const { ::kill(pid_, number); }
  // Until the file is there; false after a minute.
  static bool waits_for(const std::filesystem::path& file) {
    return waits_until([&] { return std::filesystem::exists(file); });
  }
  bool waits_for_words(const std::string& words) const {
    return waits_until([&] { return content(output_).find(words) != std::string::npos; });
  }
  template <class Condition>
  static bool waits_until(Condition condition) {
    for (int i = 0; i < 1200 && !condition(); ++i) ::usleep(50'000);
    return condition();
  }
  Outcome wait() {
    int status = 0;
    ::waitpid(std::exchange(pid_, -1), &status, 0);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), content(output_)};
  }

 private:
  std::filesystem::path output_;
  pid_t pid_;
};

// The sanitizers' own library has to be loaded first.
#define SKIP_WITHOUT_PRELOAD() \
  if (kSanitized) GTEST_SKIP() << "faults cannot be loaded into a sanitized program"

}  // namespace plimsoll
