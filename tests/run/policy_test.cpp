#include "run/policy.h"

#include <gtest/gtest.h>

#include <cmath>

namespace plimsoll {
namespace {

TEST(Policy, TheBestEpochIsTheFirstOfTheLowest) {
  RunState state;
  EXPECT_TRUE(note_validation(state, 3, 1, true));
  EXPECT_TRUE(note_validation(state, 2, 2, true));
  EXPECT_FALSE(note_validation(state, 2, 3, true));
  EXPECT_FALSE(note_validation(state, std::nan(""), 4, true));
  EXPECT_EQ(state.best_epoch, 2);
  EXPECT_EQ(state.best, 2);
  EXPECT_EQ(state.stale_epochs, 2);
  EXPECT_TRUE(note_validation(state, 1, 5, true));
  EXPECT_EQ(state.stale_epochs, 0);
}

TEST(Policy, ALossThatIsNotFiniteIsNeverBest) {
  RunState state;
  EXPECT_FALSE(note_validation(state, std::nan(""), 1, true));
  EXPECT_FALSE(state.best.has_value());
}

TEST(Policy, AnEpochThatWasCutShortMayBeBestButIsNotStale) {
  RunState state;
  note_validation(state, 1, 1, true);
  EXPECT_FALSE(note_validation(state, 2, 2, false));
  EXPECT_EQ(state.stale_epochs, 0);
  EXPECT_TRUE(note_validation(state, 0.5, 2, false));
}

TEST(Policy, ItIsEnoughAfterAsManyStaleEpochsAsWereAskedFor) {
  RunState state;
  state.stale_epochs = 2;
  EXPECT_FALSE(is_enough(state, 0));
  EXPECT_FALSE(is_enough(state, 3));
  EXPECT_TRUE(is_enough(state, 2));
}

TEST(Policy, TheRateFallsOnAPlateauAndNotBelowItsLeast) {
  const RateSchedule::PlateauRule rule{.factor = 0.1, .patience = 2, .delta = 0.01, .least = 0.003};
  RunState state;
  EXPECT_FALSE(follow_plateau(state, rule, 0.1, 1.0));
  EXPECT_FALSE(follow_plateau(state, rule, 0.1, 0.995));  // better, but by less than delta
  EXPECT_TRUE(follow_plateau(state, rule, 0.1, 1.0));
  EXPECT_DOUBLE_EQ(state.lr_scale, 0.1);
  EXPECT_FALSE(follow_plateau(state, rule, 0.1, 1.0));
  EXPECT_TRUE(follow_plateau(state, rule, 0.1, 1.0));
  EXPECT_DOUBLE_EQ(state.lr_scale, 0.03);
  EXPECT_FALSE(follow_plateau(state, rule, 0.1, 1.0));
  EXPECT_FALSE(follow_plateau(state, rule, 0.1, 1.0));
  EXPECT_DOUBLE_EQ(state.lr_scale, 0.03);
}

TEST(Policy, ARollbackIsTheCheckpointAtASmallerRate) {
  RunState now;
  now.step = 90;
  now.lr_scale = 0.5;
  now.rollbacks = 1;
  now.high_steps = 9;
  RunState checkpoint;
  checkpoint.step = 60;
  checkpoint.lr_scale = 1;
  checkpoint.best = 0.25;
  checkpoint.high_steps = 3;
  const RunState state = rolled_back(now, checkpoint, 0.5);
  EXPECT_EQ(state.step, 60);
  EXPECT_EQ(state.best, 0.25);
  EXPECT_DOUBLE_EQ(state.lr_scale, 0.25);
  EXPECT_EQ(state.rollbacks, 2);
  EXPECT_EQ(state.high_steps, 0);
}

}  // namespace
}  // namespace plimsoll
