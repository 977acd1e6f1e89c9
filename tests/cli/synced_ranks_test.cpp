// `--bn sync` in a run: BatchNorm of the whole batch, the same bytes whoever computes its parts.
#include <nlohmann/json.hpp>

#include "tests/cli/fitted_run.h"
#include "tests/cli/ranked_runs.h"

namespace plimsoll {
namespace {

using testing::HasSubstr;
using testing::Not;

class SyncedRuns : public RankedRuns {};

TEST_F(SyncedRuns, TrainToTheSameBytesWithAnyNumberOfRanks) {
  const std::string settings = "--accumulate 4 --batch 10 --epochs 2 --ema 0.9";
  expect_same_bytes(settings + " --bn sync", {2, 3, 4});
  ASSERT_EQ(train("local", settings).code, 0);
  EXPECT_FALSE(last_weights(out("local")) == last_weights(out("alone")));
}

TEST_F(SyncedRuns, KilledAndResumedByOtherNumbersOfRanksTheyEndTheSame) {
  expect_kills_change_nothing("--accumulate 3 --save-every 4 --steps 40 --bn sync");
}

TEST_F(SyncedRuns, ARankThatIsStoppedIsNamed) { expect_stopped_rank_is_named("--bn sync"); }

// All parts of a process are in memory at once, and the ledger knows.
TEST_F(SyncedRuns, FitInAControlGroupOfWhatWasPredicted) {
  const std::string settings = "--batch 8 --accumulate 4 --steps 6 --bn sync";
  const std::string planned =
      "plan " + images_.folder().path().string() +
      " --model inception_mini --image 20 --batch 8 --accumulate 4 --val-split 0.25 "
      "--augment horizontal_flip --optimizer adam --threads 1 --json";
  const std::int64_t local = json_in(run_program(planned).output).at("floor_bytes");
  const std::int64_t synced = json_in(run_program(planned + " --bn sync").output).at("floor_bytes");
  EXPECT_GT(synced, local);
  ASSERT_EQ(train("free", settings).code, 0);
  run_fitted(words("fitted", settings), synced + (std::int64_t{64} << 10));
  EXPECT_TRUE(last_weights(out("fitted")) == last_weights(out("free")));
  expect_exact(nlohmann::json::parse(content(out("fitted") / "report.json")), "fitted");
  const Outcome refused =
      train("refused", settings + " --memory " + std::to_string(synced - (std::int64_t{1} << 20)));
  EXPECT_EQ(refused.code, 3) << refused.output;
  EXPECT_THAT(refused.output, Not(HasSubstr("--spill")));
}

TEST_F(SyncedRuns, AreSuggestedWherePartsAreSmall) {
  ASSERT_EQ(train("local", "--accumulate 4 --steps 2").code, 0);
  EXPECT_THAT(content(out("local") / "log.txt"), HasSubstr("--bn sync takes them from all"));
  ASSERT_EQ(train("synced", "--accumulate 4 --steps 2 --bn sync").code, 0);
  EXPECT_THAT(content(out("synced") / "log.txt"), Not(HasSubstr("--bn sync takes")));
}

TEST_F(SyncedRuns, AreRefusedWithWhatTheyCannotDo) {
  expect_refused(train("run", "--bn synced"), 2, "--bn: 'synced'");
  expect_refused(train("run", "--accumulate 2 --bn sync --spill " + out("spilled").string()), 2,
                 "--spill: with --bn sync");
}

TEST_F(SyncedRuns, AreResumedAsWhatTheyAre) {
  ASSERT_EQ(train("run", "--accumulate 3 --steps 4 --bn sync").code, 0);
  const Outcome other = train("run", "--accumulate 3 --steps 8 --bn local");
  EXPECT_NE(other.code, 0) << other.output;
  EXPECT_THAT(other.output, HasSubstr("bn"));
}

}  // namespace
}  // namespace plimsoll
