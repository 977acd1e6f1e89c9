// `plimsoll top` on made-up runs: it tells the living from the dead, and touches nothing.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <ctime>
#include <map>
#include <nlohmann/json.hpp>

#include "base/files.h"
#include "tests/cli/program.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

Json status_of(pid_t pid, const char* state) {
  const auto now = static_cast<double>(std::time(nullptr));
  return {{"pid", pid},
          {"state", state},
          {"model", "xception_mini"},
          {"data", "flowers5"},
          {"epoch", 3},
          {"epochs", 30},
          {"step", 120},
          {"steps", 625},
          {"loss", 0.8125},
          {"accuracy", 0.71},
          {"val_accuracy", nullptr},
          {"lr", 0.05},
          {"images_per_second", 18.3},
          {"data_wait_percent", 0.4},
          {"eta_seconds", 250},
          {"budget_bytes", 512 << 20},
          {"predicted_bytes", 500 << 20},
          {"resident_bytes", 480 << 20},
          {"peak_bytes", 490 << 20},
          {"ledger",
           {{{"line", "activations"}, {"bytes", 300 << 20}},
            {{"line", "weights"}, {"bytes", 200 << 20}}}},
          {"started", now - 100},
          {"updated", now},
          {"stopped_by", nullptr}};
}

// A process that holds the lock of a run until this goes.
class LivingRun {
 public:
  explicit LivingRun(const fs::path& folder) {
    fs::create_directories(folder);
    int ready[2], quit[2];
    EXPECT_EQ(::pipe(ready), 0);
    EXPECT_EQ(::pipe(quit), 0);
    quit_ = quit[1];
    pid_ = ::fork();
    if (pid_ == 0) {
      ::close(quit[1]);
      const int lock = ::open((folder / "run.lock").c_str(), O_RDWR | O_CREAT, 0666);
      const std::string pid = std::to_string(::getpid()) + "\n";
      bool held = ::write(lock, pid.data(), pid.size()) > 0;
      struct flock whole {};
      whole.l_type = F_WRLCK;
      whole.l_whence = SEEK_SET;
      held = held && ::fcntl(lock, F_OFD_SETLK, &whole) == 0;
      char answer = held ? 'y' : 'n';
      if (::write(ready[1], &answer, 1) != 1) ::_exit(1);
      ::_exit(static_cast<int>(::read(quit[0], &answer, 1)));
    }
    ::close(quit[0]);
    char answer = 'n';
    EXPECT_EQ(::read(ready[0], &answer, 1), 1);
    EXPECT_EQ(answer, 'y');
    ::close(ready[0]);
    ::close(ready[1]);
    write_file(folder / "status.json", status_of(pid_, "training").dump());
  }
  LivingRun(const LivingRun&) = delete;
  LivingRun& operator=(const LivingRun&) = delete;
  ~LivingRun() {
    ::close(quit_);
    ::waitpid(pid_, nullptr, 0);
  }

  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
  int quit_ = -1;
};

// Every file with its content and time, to see that nothing was touched.
std::map<std::string, std::string> snapshot(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder))
    files[entry.path().string()] =
        std::to_string(entry.last_write_time().time_since_epoch().count()) +
        (entry.is_regular_file() ? read_file(entry.path(), 1_MiB) : "");
  return files;
}

Json run_of(const Json& list, const std::string& name) {
  for (const Json& run : list.at("runs"))
    if (fs::path(run.at("run").get<std::string>()).filename() == name) return run;
  return nullptr;
}

TEST(Top, ShowsARunWithItsLedgerAndWhatTheKernelCounts) {
  const TemporaryFolder folder;
  const LivingRun living(folder / "run");
  const auto before = snapshot(folder.path());
  const Outcome outcome = run_program("top " + (folder / "run").string());
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("training"), HasSubstr("3/30"), HasSubstr("120/625"),
                                    HasSubstr("0.8125"), HasSubstr("71.0%/-"), HasSubstr("18.3"),
                                    HasSubstr("512 MiB"), HasSubstr(std::to_string(living.pid()))));
  EXPECT_THAT(outcome.output,
              AllOf(HasSubstr("xception_mini on flowers5"), HasSubstr("activations"),
                    HasSubstr("300 MiB"), HasSubstr("resident now, by the kernel"),
                    HasSubstr("480 MiB"), HasSubstr("of the budget of 512 MiB")));
  EXPECT_EQ(snapshot(folder.path()), before);
}

TEST(Top, ShowsEveryRankOfARunAndWhatItWaitsFor) {
  const TemporaryFolder folder;
  const LivingRun living(folder / "run");
  Json status = status_of(living.pid(), "training");
  status["ranks"] = {{{"host", "a"}, {"doing", "training"}, {"step", 120}, {"step_seconds", 0.75}},
                     {{"host", "b"},
                      {"doing", "training, reading p/7.jpg"},
                      {"step", 119},
                      {"wait_data", 0.625},
                      {"resident_bytes", 480 << 20},
                      {"silent_seconds", 12}}};
  folder.put("run/status.json", status.dump());
  const Outcome outcome = run_program("top " + (folder / "run").string());
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.output, AllOf(HasSubstr("training on 2 ranks"), HasSubstr("0.75"),
                                    HasSubstr("training, reading p/7.jpg, silent 12"),
                                    HasSubstr("0.625 s"), HasSubstr("480 MiB")));
  status["ranks"] = 2;
  folder.put("run/status.json", status.dump());
  EXPECT_THAT(run_program("top " + (folder / "run").string()).output,
              HasSubstr("'ranks' is not a list"));
}

TEST(Top, FindsRunsByTheirLockAndByTheirFolder) {
  const TemporaryFolder folder;
  const LivingRun living(folder / "elsewhere" / "living");
  folder.put("runs/ended/status.json", status_of(1, "done").dump());
  folder.put("runs/crashed/status.json", status_of(1, "training").dump());
  folder.put("runs/crashed/run.lock", "1\n");
  folder.put("runs/garbled/status.json", "{\"pid\": 3, ");
  folder.put("runs/nothing/args.toml", "");
  const auto before = snapshot(folder.path());
  const std::string here = "cd " + folder.path().string() + " && ";
  const Json list = Json::parse(run_program("top --json", here).output);
  const Json running = run_of(list, "living");
  EXPECT_EQ(running.at("condition"), "running");
  EXPECT_EQ(running.at("pid"), living.pid());
  EXPECT_EQ(running.at("loss"), 0.8125);
  EXPECT_GT(running.at("live_resident_bytes"), 0);
  EXPECT_EQ(run_of(list, "ended").at("condition"), "ended");
  EXPECT_EQ(run_of(list, "crashed").at("condition"), "crashed");
  EXPECT_EQ(run_of(list, "crashed").at("live_resident_bytes"), nullptr);
  EXPECT_EQ(run_of(list, "garbled").at("condition"), "unreadable");
  EXPECT_TRUE(run_of(list, "nothing").is_null());

  const Outcome table = run_program("top", here);
  EXPECT_EQ(table.code, 0);
  EXPECT_THAT(table.output, AllOf(HasSubstr("crashed (training)"),
                                  HasSubstr("runs/garbled: cannot be read: is not JSON")));
  EXPECT_EQ(snapshot(folder.path()), before);
}

TEST(Top, LeavesOutRunsThatToldNothingForADay) {
  const TemporaryFolder folder;
  const fs::path old = folder.put("runs/old/status.json", status_of(1, "done").dump());
  fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::hours(25));
  const Json list =
      Json::parse(run_program("top --json", "cd " + folder.path().string() + " && ").output);
  EXPECT_TRUE(run_of(list, "old").is_null());
}

TEST(Top, RefusesWhatIsNoRunByNamingIt) {
  const TemporaryFolder folder;
  folder.put("empty/args.toml", "");
  folder.put("garbled/status.json", "{\"pid\": ");
  folder.put("list/status.json", "[1, 2]");
  folder.put("typed/status.json", R"({"pid": 1, "state": "training", "loss": "low"})");
  folder.put("huge/status.json", R"({"pid": 1, "state": "training", "step": 1e300})");
  const auto refused = [&](const std::string& name, const std::string& text) {
    const Outcome outcome = run_program("top " + (folder / name).string());
    EXPECT_EQ(outcome.code, 1) << outcome.output;
    EXPECT_THAT(outcome.output, AllOf(HasSubstr(name), HasSubstr(text), HasSubstr("; expected")));
  };
  refused("nowhere", "there is no such folder");
  refused("empty", "has no status.json");
  refused("garbled", "is not JSON");
  refused("list", "is no object");
  refused("typed", "'loss' is not a number or null");
  refused("huge", "'step' is not a whole number");
}

TEST(Top, SendsNoControlCharactersFromFiles) {
  const TemporaryFolder folder;
  Json status = status_of(1, "done");
  status["model"] = "evil\x1b[2J\x07";
  status["stopped_by"] = "\x1b]0;title";
  folder.put("run/status.json", status.dump());
  const std::string output = run_program("top " + (folder / "run").string()).output;
  EXPECT_EQ(output.find('\x1b'), std::string::npos);
  EXPECT_THAT(output, HasSubstr("evil?[2J?"));
}

// Runs it on a terminal, sends `key` once the page is there, and returns all that was written.
std::string on_terminal(const std::string& run, char key, int& status) {
  int terminal = -1;
  const pid_t pid = ::forkpty(&terminal, nullptr, nullptr, nullptr);
  if (pid == 0) {
    ::execl(PLIMSOLL_PROGRAM, "plimsoll", "top", run.c_str(), nullptr);
    ::_exit(127);
  }
  std::string output;
  char piece[4096];
  bool sent = false;
  while (true) {
    const ssize_t got = ::read(terminal, piece, sizeof piece);
    if (got <= 0) break;
    output.append(piece, static_cast<std::size_t>(got));
    if (!sent && output.find("q: quit") != std::string::npos)
      sent = ::write(terminal, &key, 1) == 1;
  }
  ::waitpid(pid, &status, 0);
  ::close(terminal);
  return output;
}

TEST(Top, RefreshesOnATerminalUntilAKeyAndLeavesItAsItWas) {
  const TemporaryFolder folder;
  const LivingRun living(folder / "run");
  for (const char key : {'q', '\x03'}) {
    int status = -1;
    const std::string output = on_terminal((folder / "run").string(), key, status);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << output;
    EXPECT_THAT(output, AllOf(HasSubstr("training"), HasSubstr("\x1b[?1049h")));
    EXPECT_THAT(output, testing::EndsWith("\x1b[?25h\x1b[?1049l"));
  }
}

}  // namespace
}  // namespace plimsoll
