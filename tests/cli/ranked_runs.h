// Runs of several ranks, as mpirun or the program's own launcher starts them.
#pragma once

#include <gmock/gmock.h>

#include <sstream>
#include <string>
#include <vector>

#include "tests/cli/run_support.h"

namespace plimsoll {

// mpirun refuses to work for root unless both are said.
inline constexpr const char* kAsRoot =
    "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_NUM_THREADS=1 ";

class RankedRuns : public SmallRuns {
 protected:
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "libmpi is not instrumented";
    if (run_command("command -v mpirun").code != 0) GTEST_SKIP() << "there is no mpirun";
  }

  static std::string mpirun(int ranks) {
    return std::string("env ") + kAsRoot + "timeout -s KILL 60 mpirun --oversubscribe -n " +
           std::to_string(ranks) + " ";
  }
  Outcome train_ranks(int ranks, const std::string& name, const std::string& more = "") const {
    return train(name, more, mpirun(ranks));
  }
  // The program's own launcher.
  std::string launcher() const { return std::string("env ") + kAsRoot; }

  // The processes that are ranks of this run.
  std::vector<pid_t> ranks_of(const std::string& name) const {
    std::istringstream lines(run_command("pgrep -f -- '^" PLIMSOLL_PROGRAM " train .*[-]-out " +
                                         out(name).string() + " '; true")
                                 .output);
    std::vector<pid_t> pids;
    for (std::string line; std::getline(lines, line);) pids.push_back(std::stoi(line));
    return pids;
  }
  // That one of them which is this rank.
  pid_t rank_of(const std::string& name, int rank) const {
    for (const pid_t pid : ranks_of(name))
      if (content("/proc/" + std::to_string(pid) + "/environ")
              .find("OMPI_COMM_WORLD_RANK=" + std::to_string(rank) + '\0') != std::string::npos)
        return pid;
    return -1;
  }
  bool is_saved(const std::string& name) const {
    return Background::waits_for(out(name) / "weights" / "last.safetensors");
  }

  // Signals a rank of "run" once that has saved. Its process; below 1 where there is none.
  pid_t signal_rank(int rank, int signal) const {
    EXPECT_TRUE(is_saved("run")) << content(out("log"));
    const pid_t pid = rank_of("run", rank);
    if (pid > 0) ::kill(pid, signal);
    return pid;
  }

  // Runs of so many ranks leave what a run of one process leaves, as "of2" beside "alone".
  // `of_ranks`: words that only ranks are given.
  void expect_same_bytes(const std::string& settings, std::initializer_list<int> counts,
                         const std::string& of_ranks = "") const {
    ASSERT_EQ(train("alone", settings).code, 0);
    for (const int ranks : counts) {
      const std::string name = "of" + std::to_string(ranks);
      const Outcome outcome = train_ranks(ranks, name, settings + of_ranks);
      ASSERT_EQ(outcome.code, 0) << outcome.output;
      EXPECT_TRUE(last_weights(out(name)) == last_weights(out("alone"))) << ranks;
      EXPECT_EQ(lasting_results(out(name)), lasting_results(out("alone"))) << ranks;
    }
  }
  // The watchdog ends the run for this rank, whose process is stopped; then that is ended, too.
  static void expect_end_names(int rank, pid_t stopped, Background& run) {
    const Outcome outcome = run.wait();
    EXPECT_EQ(outcome.code, 4) << outcome.output;
    EXPECT_THAT(outcome.output, testing::ContainsRegex("waiting for rank " + std::to_string(rank) +
                                                       " on .*: last heard of"));
    ::kill(stopped, SIGKILL);
  }
  // One of three that stops is named, and ends the run where that was asked for.
  void expect_stopped_rank_is_named(const std::string& settings = "") const {
    Background run(
        words("run",
              "--accumulate 3 --ranks 3 --save-every 4 --epochs 1000 --on-stall stop " + settings),
        out("log"), launcher());
    const pid_t victim = signal_rank(2, SIGSTOP);
    ASSERT_GT(victim, 0) << content(out("log"));
    expect_end_names(2, victim, run);
    expect_sound_checkpoint(out("run"));
  }
  // A slow disk is no stall, a rank that does not come behind it is. `call`: the first of this kind
  // that is slow (file_faults.cpp).
  void expect_one_stopped_in_a_save_is_named(const std::string& call,
                                             const std::string& settings = "") const {
    SKIP_WITHOUT_PRELOAD();
    Background run(
        words("run",
              "--accumulate 2 --ranks 2 --save-every 4 --epochs 1000 --on-stall stop " + settings),
        out("log"),
        launcher() + faults("FAULT_PATH=last.safetensors FAULT_CALLS=" + call +
                            " FAULT_AT=1 FAULT_DO=stall FAULT_SECONDS=3"));
    ASSERT_TRUE(Background::waits_until([&] {
      return content(out("run") / "status.json").find("\"state\": \"saving\"") != std::string::npos;
    })) << content(out("log"));
    const pid_t victim = rank_of("run", 1);
    ASSERT_GT(victim, 0);
    ::kill(victim, SIGSTOP);
    const auto begin = std::chrono::steady_clock::now();
    expect_end_names(1, victim, run);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
  }

  // A run of 3, 2 and 3 ranks, each time killed by the death of one of them and ended by one
  // process, is what a run of one process is. `of_ranks`: words that only ranks are given.
  void expect_kills_change_nothing(const std::string& settings,
                                   const std::string& of_ranks = "") const {
    ASSERT_EQ(train("whole", settings).code, 0);
    for (const int ranks : {3, 2, 3}) {
      Background run(words("killed", settings + of_ranks), out("log"), mpirun(ranks));
      ASSERT_TRUE(is_saved("killed")) << content(out("log"));
      ::usleep(300'000);
      const pid_t victim = ranks == 2 ? rank_of("killed", 0) : rank_of("killed", ranks - 1);
      if (victim > 0) ::kill(victim, SIGKILL);
      run.wait();
      EXPECT_TRUE(Background::waits_until([&] { return ranks_of("killed").empty(); }));
      expect_sound_checkpoint(out("killed"));
    }
    const Outcome end = train("killed", settings);
    ASSERT_EQ(end.code, 0) << end.output;
    EXPECT_TRUE(last_weights(out("killed")) == last_weights(out("whole")));
    EXPECT_EQ(lasting_results(out("killed")), lasting_results(out("whole")));
  }
};

// One message, whatever the number of ranks.
inline void expect_refused(const Outcome& outcome, int code, const std::string& text) {
  EXPECT_EQ(outcome.code, code) << outcome.output;
  EXPECT_THAT(outcome.output, testing::HasSubstr(text));
  const std::size_t first = outcome.output.find("plimsoll: ");
  ASSERT_NE(first, std::string::npos) << outcome.output;
  EXPECT_EQ(outcome.output.find("plimsoll: ", first + 1), std::string::npos) << outcome.output;
  EXPECT_THAT(outcome.output, testing::Not(testing::HasSubstr("----------")));
}

}  // namespace plimsoll
