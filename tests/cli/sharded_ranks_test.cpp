// Processes that share out what the optimizer remembers: the same bytes, in less memory.
#include <nlohmann/json.hpp>

#include "tests/cli/fitted_run.h"
#include "tests/cli/ranked_runs.h"

namespace plimsoll {
namespace {

using testing::HasSubstr;

class ShardedRuns : public RankedRuns {};

TEST_F(ShardedRuns, TrainToTheSameBytes) {
  expect_same_bytes("--accumulate 4 --batch 4 --steps 12 --ema 0.9", {2, 3, 4},
                    " --shard-optimizer");
  for (const int ranks : {2, 3, 4}) {
    const std::string name = "of" + std::to_string(ranks);
    EXPECT_TRUE(content(out(name) / "weights/best.safetensors") ==
                content(out("alone") / "weights/best.safetensors"))
        << ranks;
    EXPECT_THAT(content(out(name) / "log.txt"),
                HasSubstr("shared out over " + std::to_string(ranks) + " ranks"));
  }
}

TEST_F(ShardedRuns, KilledAndResumedByOtherNumbersOfThemTheyEndTheSame) {
  expect_kills_change_nothing("--accumulate 3 --save-every 4 --steps 40 --ema 0.9",
                              " --shard-optimizer");
}

TEST_F(ShardedRuns, ADiskThatStaysFullEndsAllWithTheOldCheckpoint) {
  SKIP_WITHOUT_PRELOAD();
  const Outcome outcome =
      train("run", "--accumulate 2 --ranks 2 --steps 20 --save-every 6 --shard-optimizer",
            launcher() + faults("FAULT_PATH=last.safetensors FAULT_CALLS=w FAULT_AT=20 "
                                "FAULT_COUNT=9999 FAULT_DO=" +
                                std::to_string(ENOSPC)));
  EXPECT_EQ(outcome.code, 1) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("not saved since step"));
  EXPECT_TRUE(ranks_of("run").empty());
}

// Rank 0 fetches the shards of others while it writes.
TEST_F(ShardedRuns, OneThatIsStoppedWhileItsShardsAreSavedIsNamed) {
  expect_one_stopped_in_a_save_is_named("w", "--optimizer adam --shard-optimizer");
}

// What `plan` finds for 4 ranks.
class ShardedPlans : public ShardedRuns {
 protected:
  std::string planned(const std::string& more) const {
    return "plan " + images_.folder().path().string() +
           " --model inception_mini --image 20 --batch 8 --accumulate 4 --val-split 0.25 "
           "--augment horizontal_flip --optimizer adam --threads 1 --ranks 4 " +
           more;
  }
  nlohmann::json plan(const std::string& more = "") const {
    const Outcome outcome = run_program(planned("--json " + more));
    EXPECT_EQ(outcome.code, 0) << outcome.output;
    return json_in(outcome.output);
  }
  // Of a host whose ranks have so much each.
  static std::string memory(std::int64_t rank_bytes) {
    constexpr std::int64_t kMpirun = std::int64_t{20} << 20;
    return " --memory " + std::to_string(4 * rank_bytes + kMpirun);
  }
};

TEST_F(ShardedPlans, AreMadeWhereTheBudgetNeedsThem) {
  const nlohmann::json whole = plan();
  const nlohmann::json sharded = plan("--shard-optimizer");
  EXPECT_EQ(whole.at("optimizer_shards"), 1);
  EXPECT_EQ(sharded.at("optimizer_shards"), 4);
  EXPECT_EQ(whole.at("ranks").at("gathered_bytes"), 0);
  EXPECT_GT(sharded.at("ranks").at("gathered_bytes"), 0);
  const std::int64_t floor = whole.at("floor_bytes");
  const std::int64_t needed = sharded.at("floor_bytes");
  ASSERT_LT(needed, floor);
  EXPECT_EQ(plan(memory(floor)).at("optimizer_shards"), 1);
  EXPECT_EQ(plan(memory(floor - 1)).at("optimizer_shards"), 4);
  EXPECT_EQ(plan(memory(needed)).at("optimizer_shards"), 4);
  const Outcome told = run_program(planned(memory(needed)));
  EXPECT_THAT(told.output, HasSubstr("shared out over 4 ranks: without --shard-optimizer"));
  EXPECT_THAT(told.output, HasSubstr("of weights are gathered"));
}

TEST_F(ShardedPlans, ThatDoNotFitAreRefusedWithWhatTheyGained) {
  const std::int64_t needed = plan("--shard-optimizer").at("floor_bytes");
  const Outcome outcome = run_program(planned(memory(needed - 1)));
  EXPECT_EQ(outcome.code, 3) << outcome.output;
  EXPECT_THAT(outcome.output,
              testing::ContainsRegex("--shard-optimizer needs .*taken already: without it"));
  EXPECT_THAT(outcome.output, HasSubstr("--memory " + std::to_string(needed) + " is the smallest"));
}

// mpirun and all ranks in one group, of less than they need without it.
TEST_F(ShardedPlans, FitInAControlGroupThatIsTooSmallWithoutThem) {
  constexpr std::int64_t kSpare = std::int64_t{64} << 10;
  const std::int64_t each =
      plan("--shard-optimizer").at("floor_bytes").get<std::int64_t>() + kSpare;
  ASSERT_LT(each, plan().at("floor_bytes").get<std::int64_t>());
  const MemoryGroup group(4 * each + (std::int64_t{20} << 20));
  const Outcome outcome =
      run_program(words("run", "--batch 8 --accumulate 4 --steps 6 --ranks 4" + memory(each)),
                  group.enter() + launcher());
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(content(out("run") / "log.txt"), HasSubstr("shared out over 4 ranks: without"));
  const auto report = nlohmann::json::parse(content(out("run") / "report.json"));
  for (const auto& rank : report.at("ranks")) expect_exact(rank, "run");
}

TEST_F(ShardedRuns, WhereThereIsNothingToShareOutAreRefused) {
  expect_refused(train("run", "--shard-optimizer"), 2, "--shard-optimizer: one rank");
  expect_refused(train("run",
                       "--accumulate 2 --ranks 2 --shard-optimizer --optimizer sgd "
                       "--momentum 0",
                       launcher()),
                 2, "--shard-optimizer: an optimizer that remembers nothing");
}

}  // namespace
}  // namespace plimsoll
