#include "dist/rank_times.h"

#include <gtest/gtest.h>

namespace plimsoll::dist {
namespace {

TEST(RankTimes, WhatTheLastToComeWaitsIsTheExchange) {
  // Both end at 3 s; the first is done with its own after 2 s, the second after 2.75.
  const std::vector<StepTimes> ranks{{{3, 1}}, {{3, 0.25}}};
  const std::vector<RankTimes> times = split_times(ranks);
  EXPECT_EQ(times[0].compute, 2);
  EXPECT_EQ(times[0].exchange, 0.25);
  EXPECT_EQ(times[0].waiting, 0.75);
  EXPECT_EQ(times[1].compute, 2.75);
  EXPECT_EQ(times[1].exchange, 0.25);
  EXPECT_EQ(times[1].waiting, 0);
}

TEST(RankTimes, AreMediansOverSteps) {
  const std::vector<StepTimes> ranks{{{2, 0}, {1, 0}, {100, 0}}, {{1, 0}, {3, 0}, {1, 0}}};
  EXPECT_EQ(split_times(ranks)[0].seconds, 2);
  // The slowest took 2, 3 and 100.
  EXPECT_EQ(step_seconds(ranks), 3);
  EXPECT_EQ(median({4, 1, 3, 2}), 2.5);
}

TEST(RankTimes, OfRanksThatAreAlikeDoNotSpread) {
  EXPECT_EQ(spread_of(std::vector<StepTimes>{{{2, 0.5}}, {{3, 1.5}}}), 0);
  EXPECT_EQ(spread_of(std::vector<StepTimes>{{{2, 0}}}), 0);
}

// A forecast with the spread found here waits as long as these ranks did.
TEST(RankTimes, TheirSpreadGivesBackTheSlowest) {
  const std::vector<StepTimes> ranks{{{0.9, 0}}, {{1.1, 0}}, {{1.0, 0}}};
  EXPECT_NEAR(spread_of(ranks) * expected_excess(3), 0.1, 1e-12);
}

// Means of the largest of so many normal values, as tables have them.
TEST(RankTimes, ExpectTheLargestOfManyAsTablesDo) {
  EXPECT_EQ(expected_excess(1), 0);
  EXPECT_NEAR(expected_excess(2), 0.564, 0.03);
  EXPECT_NEAR(expected_excess(4), 1.029, 0.03);
  EXPECT_NEAR(expected_excess(16), 1.766, 0.03);
  EXPECT_NEAR(expected_excess(512), 3.037, 0.03);
}

}  // namespace
}  // namespace plimsoll::dist
