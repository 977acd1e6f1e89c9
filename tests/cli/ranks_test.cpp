// Several processes train one network: the same bytes with any number of them, and quick, clear
// ends where one fails.
#include <chrono>
#include <nlohmann/json.hpp>
#include <regex>

#include "tests/cli/fitted_run.h"
#include "tests/cli/ranked_runs.h"

namespace plimsoll {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kParts = "--accumulate 3 --steps 12 ";

TEST_F(RankedRuns, AnyNumberOfThemTrainsToTheSameBytes) {
  expect_same_bytes(std::string(kParts) + "--ema 0.9 --augment horizontal_flip,mixup=0.4",
                    {1, 2, 3});
}

// 36 samples in batches of 16: the last one has 4, in fewer parts than there are ranks.
TEST_F(RankedRuns, BatchesThatPartsDoNotDivideAreTheSameToo) {
  expect_same_bytes("--batch 16 --accumulate 5 --epochs 2 --optimizer sgd", {2, 4});
}

TEST_F(RankedRuns, TheReportTellsOfEachOfThem) {
  ASSERT_EQ(train_ranks(2, "run", kParts).code, 0);
  const auto report = nlohmann::json::parse(content(out("run") / "report.json"));
  ASSERT_EQ(report.at("ranks").size(), 2U);
  for (const auto& rank : report.at("ranks")) {
    EXPECT_EQ(rank.at("threads"), 1);
    EXPECT_GT(rank.at("measured_peak_bytes"), 0);
    EXPECT_GT(rank.at("exchange_bytes"), 0);
  }
}

TEST_F(RankedRuns, KilledAndResumedByOtherNumbersOfThemTheyEndTheSame) {
  expect_kills_change_nothing("--accumulate 3 --save-every 4 --steps 40");
}

TEST_F(RankedRuns, OneThatIsKilledIsNamedAndNobodyIsLeft) {
  Background run(words("run", "--accumulate 3 --ranks 3 --save-every 2 --epochs 1000"), out("log"),
                 launcher());
  ASSERT_GT(signal_rank(2, SIGKILL), 0) << content(out("log"));
  const auto begin = std::chrono::steady_clock::now();
  const Outcome outcome = run.wait();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
  EXPECT_EQ(outcome.code, 137) << outcome.output;
  EXPECT_THAT(outcome.output, testing::ContainsRegex("rank 2 on .* was ended by signal 9"));
  EXPECT_THAT(outcome.output, testing::ContainsRegex("the checkpoint of step [0-9]+ stands"));
  EXPECT_THAT(outcome.output, HasSubstr("resume: plimsoll train --resume " + out("run").string()));
  EXPECT_THAT(outcome.output, Not(HasSubstr("----------")));
  EXPECT_TRUE(Background::waits_until([&] { return ranks_of("run").empty(); }));
  expect_sound_checkpoint(out("run"));
}

TEST_F(RankedRuns, AfterADeathTheyAreStartedAgainAndEndTheSame) {
  const std::string settings = "--accumulate 3 --save-every 4 --steps 60";
  ASSERT_EQ(train("whole", settings).code, 0);
  Background run(words("run", settings + " --ranks 2 --restarts 2"), out("log"), launcher());
  ASSERT_GT(signal_rank(1, SIGKILL), 0) << content(out("log"));
  const Outcome outcome = run.wait();
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("restart 1 of 2: from step"));
  EXPECT_TRUE(last_weights(out("run")) == last_weights(out("whole")));
}

TEST_F(RankedRuns, SignalsToTheLauncherFinishTheStepAndSave) {
  const std::string settings = "--accumulate 2 --epochs 1000 --save-every 100000";
  for (const auto& [signal, code] :
       {std::pair{SIGINT, 130}, std::pair{SIGTERM, 143}, std::pair{SIGHUP, 129}}) {
    const std::string name = "by" + std::to_string(signal);
    Background run(words(name, settings + " --ranks 2"), out("log"), launcher());
    ASSERT_TRUE(Background::waits_until([&] {
      return content(out(name) / "status.json").find("\"state\": \"training\"") !=
             std::string::npos;
    })) << content(out("log"));
    run.signal(signal);
    const Outcome outcome = run.wait();
    EXPECT_EQ(outcome.code, code) << outcome.output;
    EXPECT_TRUE(std::filesystem::exists(out(name) / "weights" / "last.safetensors"))
        << outcome.output;
    EXPECT_TRUE(ranks_of(name).empty());
  }
}

TEST_F(RankedRuns, SIGUSR1ToMpirunFinishesTheStepAndSaves) {
  Background run(words("run", "--accumulate 2 --epochs 1000 --save-every 100000"), out("log"),
                 std::string("env ") + kAsRoot + "mpirun --oversubscribe -n 2 ");
  ASSERT_TRUE(Background::waits_until([&] {
    return content(out("run") / "status.json").find("\"state\": \"training\"") != std::string::npos;
  })) << content(out("log"));
  run.signal(SIGUSR1);
  const Outcome outcome = run.wait();
  EXPECT_EQ(outcome.code, 138) << outcome.output;
  EXPECT_TRUE(std::filesystem::exists(out("run") / "weights" / "last.safetensors"));
}

TEST_F(RankedRuns, OneThatIsStoppedIsNamed) { expect_stopped_rank_is_named(); }
TEST_F(RankedRuns, OneThatIsStoppedWhileOthersSaveIsNamed) {
  expect_one_stopped_in_a_save_is_named("s");
  expect_sound_checkpoint(out("run"));
}

// The file is read once by the scan of each rank; then the first to meet it again fails.
TEST_F(RankedRuns, APictureThatGoesBadOnOneOfThemIsToldOnceWithItsFile) {
  SKIP_WITHOUT_PRELOAD();
  const Outcome outcome =
      train("run", "--accumulate 3 --ranks 3 --epochs 50 --save-every 100000",
            launcher() + faults("FAULT_PATH=c1/03.bmp FAULT_CALLS=r FAULT_AT=4 FAULT_COUNT=9999 "
                                "FAULT_DO=" +
                                std::to_string(EIO)));
  EXPECT_EQ(outcome.code, 1) << outcome.output;
  EXPECT_THAT(outcome.output, testing::ContainsRegex("plimsoll: rank [0-2] on .*c1/03.bmp"));
  EXPECT_EQ(outcome.output.find("plimsoll: "), outcome.output.rfind("plimsoll: "))
      << outcome.output;
  // The last good step is saved.
  EXPECT_TRUE(std::filesystem::exists(out("run") / "weights" / "last.safetensors"));
  expect_sound_checkpoint(out("run"));
}

TEST_F(RankedRuns, ADiskThatStaysFullEndsAllWithTheOldCheckpoint) {
  SKIP_WITHOUT_PRELOAD();
  const Outcome outcome = train(
      "run", "--accumulate 2 --ranks 2 --steps 20 --save-every 6",
      launcher() + faults("FAULT_PATH=last.safetensors FAULT_CALLS=s FAULT_AT=2 FAULT_COUNT=999 "
                          "FAULT_DO=" +
                          std::to_string(ENOSPC)));
  EXPECT_EQ(outcome.code, 1) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("not saved since step 6"));
  EXPECT_EQ(SafetensorsReader(out("run") / "weights/last.safetensors").metadata().at("step"), "6");
  EXPECT_TRUE(ranks_of("run").empty());
}

// mpirun and all ranks in one group of exactly what the smallest plan of each asks for.
TEST_F(RankedRuns, TheyFitInAControlGroupOfTheBudgetOfTheirHost) {
  for (const int ranks : {2, 4}) {
    const std::string name = "of" + std::to_string(ranks);
    const std::string settings =
        "--batch 16 --accumulate 4 --steps 8 --ranks " + std::to_string(ranks);
    constexpr std::int64_t kMiB = 1 << 20;
    const std::int64_t budget = (20 + ranks * 64) * kMiB;
    const MemoryGroup group(budget);
    const Outcome outcome = run_program(
        words(name, settings + " --memory " + std::to_string(budget)), group.enter() + launcher());
    ASSERT_EQ(outcome.code, 0) << outcome.output;
    const auto report = nlohmann::json::parse(content(out(name) / "report.json"));
    // Pages of libraries that ranks share are mapped as the kernel likes.
    for (const auto& rank : report.at("ranks")) expect_exact(rank, name, 10);
  }
}

TEST_F(RankedRuns, AnEvaluationByAnyNumberOfThemFindsTheSame) {
  ASSERT_EQ(train("run", kParts).code, 0);
  const auto evaluate = [&](const std::string& before) {
    const Outcome outcome =
        run_program("eval " + out("run").string() + " " + images_.folder().path().string() +
                        " --threads 1 --json",
                    before);
    EXPECT_EQ(outcome.code, 0) << outcome.output;
    nlohmann::json found = json_in(outcome.output);
    found.erase("predicted_bytes");
    found.erase("measured_peak_bytes");
    return found;
  };
  const nlohmann::json alone = evaluate("");
  for (const int ranks : {2, 3, 4}) EXPECT_EQ(evaluate(mpirun(ranks)), alone) << ranks;
}

TEST_F(RankedRuns, MoreOfThemThanPartsAreRefused) {
  expect_refused(run_program(words("run", "--accumulate 2 --ranks 3"), launcher()), 2,
                 "3 ranks for a batch of 2 parts");
}

// Which values are rounded would follow from the plan of whoever computes a part.
TEST_F(RankedRuns, SixteenBitStashesAreRefused) {
  expect_refused(run_program(words("run", "--accumulate 2 --ranks 2 --stash f16"), launcher()), 2,
                 "--stash: f16 with several ranks");
}

TEST_F(RankedRuns, OtherWordsOnOneOfThemAreRefused) {
  const Outcome outcome =
      run_command(mpirun(1) + PLIMSOLL_PROGRAM + " " + words("run", kParts) + ": -n 1 " +
                  PLIMSOLL_PROGRAM + " " + words("run", kParts) + "--seed 5");
  EXPECT_EQ(outcome.code, 2) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("rank 1 on "));
  EXPECT_THAT(outcome.output, HasSubstr(": command line: "));
  EXPECT_FALSE(std::filesystem::exists(out("run")));
}

TEST_F(RankedRuns, ABudgetTooSmallForThemRefusesAllAndStartsNothing) {
  const Outcome outcome =
      run_program(words("run", "--accumulate 2 --ranks 2 --memory 60MiB"), launcher());
  EXPECT_EQ(outcome.code, 3) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("for 2 ranks of this host"));
  EXPECT_FALSE(std::filesystem::exists(out("run")));
}

TEST_F(RankedRuns, DataThatIsMissingIsToldOnce) {
  expect_refused(run_program("train nowhere --accumulate 2 --ranks 2 --threads 1 --quiet --out " +
                                 out("run").string(),
                             launcher()),
                 1, "nowhere");
}

TEST_F(RankedRuns, WithoutMpirunItIsSaidWhatToInstall) {
  expect_refused(run_program(words("run", "--accumulate 2 --ranks 2"), "env PATH=/nowhere "), 2,
                 "--ranks: there is no mpirun; this needs Open MPI");
}

TEST_F(RankedRuns, AnotherMpisLauncherIsRefusedByName) {
  expect_refused(run_program(words("run", kParts), "env PMI_SIZE=2 PMI_RANK=0 "), 2, "mpiexec");
  EXPECT_EQ(run_program(words("run", kParts), "env PMI_SIZE=2 PMI_RANK=1 ").output, "");
}

}  // namespace
}  // namespace plimsoll
