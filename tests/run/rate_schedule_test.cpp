#include "run/rate_schedule.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/complaints.h"

namespace plimsoll {
namespace {

TEST(Schedule, AConstantRateStays) {
  const RateSchedule schedule({}, 0.1, 100);
  EXPECT_EQ(schedule.rate(0), 0.1);
  EXPECT_EQ(schedule.rate(99), 0.1);
}

TEST(Schedule, ACosineFallsFromThePeakToZero) {
  const RateSchedule schedule({.name = "cosine"}, 0.1, 100);
  EXPECT_DOUBLE_EQ(schedule.rate(0), 0.1);
  EXPECT_NEAR(schedule.rate(50), 0.05, 1e-12);
  EXPECT_NEAR(schedule.rate(100), 0.0, 1e-12);
  for (std::int64_t step = 1; step < 100; ++step)
    EXPECT_LT(schedule.rate(step), schedule.rate(step - 1));
}

TEST(Schedule, WarmUpClimbsToThePeak) {
  const RateSchedule schedule({.name = "constant", .warmup = 9}, 1.0, 100);
  EXPECT_DOUBLE_EQ(schedule.rate(0), 0.1);
  EXPECT_DOUBLE_EQ(schedule.rate(8), 0.9);
  EXPECT_DOUBLE_EQ(schedule.rate(9), 1.0);
}

TEST(Schedule, EveryRateIsThatOfKerasAndPyTorch) {
  std::ifstream file(std::string(PLIMSOLL_TESTS_DIR) + "/golden/schedules.json");
  const auto golden = nlohmann::json::parse(file);
  ASSERT_GT(golden["rates"].size(), 10U);
  for (const auto& [name, rates] : golden["rates"].items()) {
    const RateSchedule schedule({.name = name}, golden["peak"], golden["steps"]);
    for (std::int64_t step = 0; step < std::ssize(rates); ++step) {
      const double expected = rates[static_cast<std::size_t>(step)];
      EXPECT_NEAR(schedule.rate(step), expected, 2e-6 * 0.1 + 2e-6 * expected)
          << name << " at step " << step;
    }
  }
}

TEST(Schedule, LengthsMayBeGivenInEpochs) {
  const RateSchedule schedule({.name = "step:every=2e,factor=0.5"}, 1.0, 100, 10);
  EXPECT_DOUBLE_EQ(schedule.rate(19), 1.0);
  EXPECT_DOUBLE_EQ(schedule.rate(20), 0.5);
}

TEST(Schedule, SettingsThatMakeNoSenseAreRefused) {
  for (const char* name : {"step", "step:every=0", "step:every=x", "exponential:every=5",
                           "cosine:start=1", "one-cycle:rise=2", "piecewise", "plateau:factor=3",
                           "step:every=5,factor", "piecewise:1=x"})
    EXPECT_COMPLAINT(RateSchedule({.name = name}, 1.0, 100), UsageError, "expected");
}

TEST(Schedule, AnUnknownNameIsRefused) {
  EXPECT_COMPLAINT(RateSchedule({.name = "cosin"}, 1.0, 100), UsageError, "did you mean 'cosine'?");
}

}  // namespace
}  // namespace plimsoll
