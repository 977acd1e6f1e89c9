// Runs that go wrong by themselves are stopped, rolled back or told of; healthy ones are left
// alone.
#include "tests/cli/run_support.h"

namespace plimsoll {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using WatchdogOfRuns = SmallRuns;

TEST_F(WatchdogOfRuns, ARateFarTooHighStopsWithin20StepsAndNamesTheLayer) {
  for (const char* model : {"inception_mini", "xception_mini", "resnet20"}) {
    const Outcome outcome =
        train(model, std::string("--optimizer sgd --lr 1e4 --epochs 9 --model ") + model);
    EXPECT_EQ(outcome.code, 4) << outcome.output;
    EXPECT_THAT(outcome.output, ContainsRegex("watchdog: step (1?[0-9]|20): .*layer "));
  }
}

TEST_F(WatchdogOfRuns, RollingBackLowersTheRateAndGoesOn) {
  const Outcome outcome =
      train("run", "--optimizer sgd --lr 3e3 --on-diverge rollback --save-every 3 --epochs 4");
  EXPECT_THAT(outcome.output, HasSubstr("back to step 0, learning rate 1500 from here"));
  EXPECT_THAT(outcome.output, HasSubstr("learning rate 750 from here"));
  EXPECT_THAT(outcome.output, HasSubstr("learning rate 375 from here"));
  expect_sound_checkpoint(out("run"));
}

TEST_F(WatchdogOfRuns, WarningOnlyGoesOn) {
  const Outcome outcome = train("run", "--optimizer sgd --lr 1e4 --on-diverge warn --epochs 2");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("watchdog: step"));
}

TEST_F(WatchdogOfRuns, HealthyRunsAreLeftAlone) {
  const char* settings[] = {"--optimizer sgd --lr 0.05", "--optimizer adam --lr 1e-3",
                            "--optimizer rmsprop --lr 1e-3 --model xception_mini",
                            "--model resnet20 --optimizer sgd --lr 0.1 --schedule cosine",
                            "--watch layers --label-smoothing 0.1"};
  int number = 0;
  for (const char* more : settings) {
    const Outcome outcome = train("run" + std::to_string(number++), more);
    EXPECT_EQ(outcome.code, 0) << outcome.output;
    EXPECT_THAT(outcome.output, Not(HasSubstr("watchdog"))) << more;
  }
}

TEST_F(WatchdogOfRuns, AStarvedPipelineIsCalledInputBoundWithTheNumbers) {
  const TemporaryFolder data;
  // Large pictures for a tiny network.
  for (int c = 0; c < 2; ++c)
    for (int i = 0; i < 12; ++i)
      data.put("c" + std::to_string(c) + "/" + std::to_string(i) + ".bmp",
               bmp_image(1500, 1200, static_cast<unsigned>(c * 12 + i)));
  const Outcome outcome = run_program(
      "train " + data.path().string() +
      " --model inception_mini --image 16 --batch 1 --epochs 2 --threads 1 --quiet --out " +
      out("run").string());
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, ContainsRegex("input-bound: [0-9]+ % of the time .* workers deliver "
                                            "[0-9.]+ images/s at [0-9.]+ ms"));
}

TEST_F(WatchdogOfRuns, EarlyStopEndsARunThatGetsNoBetter) {
  const Outcome outcome =
      train("run", "--epochs 60 --early-stop 2 --lr 1e-9 --optimizer sgd --momentum 0");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("early stop: no better epoch than"));
}

}  // namespace
}  // namespace plimsoll
