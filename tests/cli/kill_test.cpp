// A run that is killed at any instant and resumed ends with the bytes of one that was not.
#include <random>

#include "tests/cli/run_support.h"

namespace plimsoll {
namespace {

using Killed = SmallRuns;

constexpr const char* kKillSettings = "--save-every 4 --ema 0.9 --keep 2";

TEST_F(Killed, InsideCheckpointWritesItResumesToTheSameBytes) {
  SKIP_WITHOUT_PRELOAD();
  const std::string tally = out("tally").string();
  ASSERT_EQ(
      train("whole", kKillSettings, faults("FAULT_PATH=.safetensors FAULT_TALLY=" + tally)).code,
      0);
  const std::string weights = last_weights(out("whole"));
  const auto calls = static_cast<int>(std::filesystem::file_size(tally));
  ASSERT_GT(calls, 40) << "a run writes, syncs and renames";
  std::mt19937 random(7);
  int kills = 0;
  for (int run = 0; kills < 16; ++run) {
    const std::string name = "run" + std::to_string(run);
    int code = -1;
    // Every part of the run is killed at some call; the later the part, the fewer are left.
    for (int at = 1 + static_cast<int>(random() % static_cast<unsigned>(calls)); code != 0;
         at = 1 + static_cast<int>(random() % static_cast<unsigned>(calls / 2))) {
      code = train(name, kKillSettings,
                   faults("FAULT_PATH=.safetensors FAULT_DO=kill FAULT_AT=" + std::to_string(at)))
                 .code;
      ASSERT_TRUE(code == 0 || code == 137 || code == -9) << code;
      kills += code == 0 ? 0 : 1;
      expect_sound_checkpoint(out(name));
    }
    EXPECT_TRUE(last_weights(out(name)) == weights) << name;
    EXPECT_EQ(lasting_results(out(name)), lasting_results(out("whole"))) << name;
  }
}

TEST_F(Killed, AtRandomTimesItResumesToTheSameBytes) {
  ASSERT_EQ(train("whole", kKillSettings).code, 0);
  std::mt19937 random(11);
  for (int kill = 0; kill < 9; ++kill) {
    const double seconds = 0.15 + 0.001 * static_cast<double>(random() % 900);
    const int code =
        train("killed", kKillSettings, "timeout -s KILL " + std::to_string(seconds) + " ").code;
    expect_sound_checkpoint(out("killed"));
    if (code != 0) continue;
    // It was faster: begin again.
    EXPECT_TRUE(last_weights(out("killed")) == last_weights(out("whole")));
    std::filesystem::remove_all(out("killed"));
  }
  ASSERT_EQ(train("killed", kKillSettings).code, 0);
  EXPECT_TRUE(last_weights(out("killed")) == last_weights(out("whole")));
  EXPECT_EQ(lasting_results(out("killed")), lasting_results(out("whole")));
}

TEST_F(Killed, WithAnotherBudgetAfterwardsItStillEndsTheSame) {
  SKIP_WITHOUT_PRELOAD();
  ASSERT_EQ(train("whole").code, 0);
  const std::string kill =
      faults("FAULT_PATH=last.safetensors FAULT_CALLS=m FAULT_DO=kill FAULT_AT=4");
  ASSERT_NE(train("part", "--memory unlimited --save-every 7", kill).code, 0);
  const Outcome rest = train("part", "--memory 32MiB");
  ASSERT_EQ(rest.code, 0) << rest.output;
  EXPECT_THAT(rest.output, testing::HasSubstr("resuming"));
  EXPECT_TRUE(last_weights(out("part")) == last_weights(out("whole")));
}

}  // namespace
}  // namespace plimsoll
