#include "train/schedule.h"

#include <gtest/gtest.h>

#include "tests/support/complaints.h"

namespace plimsoll {
namespace {

TEST(Schedule, AConstantRateStays) {
  const Schedule schedule({}, 0.1, 100);
  EXPECT_EQ(schedule.rate(0), 0.1);
  EXPECT_EQ(schedule.rate(99), 0.1);
}

TEST(Schedule, ACosineFallsFromThePeakToZero) {
  const Schedule schedule({.name = "cosine"}, 0.1, 100);
  EXPECT_DOUBLE_EQ(schedule.rate(0), 0.1);
  EXPECT_NEAR(schedule.rate(50), 0.05, 1e-12);
  EXPECT_NEAR(schedule.rate(100), 0.0, 1e-12);
  for (std::int64_t step = 1; step < 100; ++step)
    EXPECT_LT(schedule.rate(step), schedule.rate(step - 1));
}

TEST(Schedule, WarmUpClimbsToThePeak) {
  const Schedule schedule({.name = "constant", .warmup = 9}, 1.0, 100);
  EXPECT_DOUBLE_EQ(schedule.rate(0), 0.1);
  EXPECT_DOUBLE_EQ(schedule.rate(8), 0.9);
  EXPECT_DOUBLE_EQ(schedule.rate(9), 1.0);
}

TEST(Schedule, AnUnknownNameIsRefused) {
  EXPECT_COMPLAINT(Schedule({.name = "cosin"}, 1.0, 100), UsageError, "did you mean 'cosine'?");
}

}  // namespace
}  // namespace plimsoll
