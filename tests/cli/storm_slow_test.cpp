// A hundred kills at any instant, each followed by another budget: nothing of a run is lost.
#include <random>

#include "base/stopwatch.h"
#include "tests/cli/run_support.h"

namespace plimsoll {
namespace {

using Storm = SmallRuns;

// Everything that carries state from step to step, together.
constexpr const char* kStormSettings =
    "--save-every 3 --ema 0.9 --batch 6 --accumulate 2 --augment horizontal_flip,mixup=0.2 "
    "--dropout 0.3 --freeze 'a_*' --unfreeze-after 2 --seed 5";

TEST_F(Storm, OfAHundredKillsWithRandomBudgetsLosesNothing) {
  const Stopwatch watch;
  ASSERT_EQ(train("whole", kStormSettings).code, 0);
  const double whole = watch.seconds();
  const std::string best = content(out("whole") / "weights/best.safetensors");
  std::mt19937 random(13);
  int kills = 0;
  int ends = 0;
  while (kills < 100) {
    // Up to a little more than a whole run takes on this machine.
    const double seconds = 0.1 + whole * 0.0012 * static_cast<double>(random() % 1000);
    // From a little above the smallest budget.
    const std::string memory =
        random() % 4 == 0 ? "unlimited" : std::to_string(36 + random() % 40) + "MiB";
    const Outcome outcome = train("killed", std::string(kStormSettings) + " --memory " + memory,
                                  "timeout -s KILL " + std::to_string(seconds) + " ");
    expect_sound_checkpoint(out("killed"));
    if (outcome.code != 0) {
      ASSERT_TRUE(outcome.code == 137 || outcome.code == -9) << outcome.code << outcome.output;
      ++kills;
      continue;
    }
    EXPECT_TRUE(last_weights(out("killed")) == last_weights(out("whole"))) << kills;
    EXPECT_TRUE(content(out("killed") / "weights/best.safetensors") == best) << kills;
    EXPECT_EQ(lasting_results(out("killed")), lasting_results(out("whole"))) << kills;
    std::filesystem::remove_all(out("killed"));
    ++ends;
  }
  EXPECT_GT(ends, 0) << "it came to an end between the kills";
}

}  // namespace
}  // namespace plimsoll
