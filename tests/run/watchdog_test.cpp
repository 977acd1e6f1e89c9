#include "run/watchdog.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "tests/support/complaints.h"

namespace plimsoll {
namespace {

// Steps that pass without an alarm when losses come from `loss_at`.
template <class LossAt>
std::int64_t steps_without_alarm(std::int64_t steps, std::int64_t per_epoch, LossAt loss_at,
                                 std::string* cause = nullptr) {
  RunState state;
  for (; state.step < steps; ++state.step)
    if (const auto alarm = watch_loss(state, loss_at(state.step), per_epoch)) {
      if (cause != nullptr) *cause = to_string(alarm->cause);
      return state.step;
    }
  return steps;
}

double noise(std::int64_t step) { return signed_unit(1, static_cast<std::uint64_t>(step)); }

TEST(WatchLoss, ALossThatFallsWithNoiseAndSpikesIsHealthy) {
  EXPECT_EQ(steps_without_alarm(5000, 100,
                                [](std::int64_t step) {
                                  const double spike = step % 211 < 3 ? 4.0 : 0.0;
                                  return 2.3 / (1 + 0.002 * static_cast<double>(step)) *
                                             (1 + 0.5 * noise(step)) +
                                         spike;
                                }),
            5000);
}

TEST(WatchLoss, OneThatIsFarAboveItsBeginningForTenStepsHasDiverged) {
  std::string cause;
  EXPECT_EQ(steps_without_alarm(
                1000, 100, [](std::int64_t step) { return step < 50 ? 2.3 : 40.0; }, &cause),
            59);
  EXPECT_EQ(cause, "diverged");
}

TEST(WatchLoss, OneThatRisesBackToChanceHasNot) {
  EXPECT_EQ(
      steps_without_alarm(500, 10, [](std::int64_t step) { return step % 100 < 50 ? 2.3 : 0.05; }),
      500);
}

TEST(WatchLoss, AVeryLongTimeWithoutProgressIsAPlateau) {
  std::string cause;
  const std::int64_t steps = steps_without_alarm(
      10'000, 300, [](std::int64_t step) { return 1.0 + 0.1 * noise(step); }, &cause);
  EXPECT_EQ(cause, "plateau");
  EXPECT_GE(steps, 3000) << "ten epochs";
}

TEST(WatchdogOptions, AnswersAreCheckedByName) {
  EXPECT_EQ(parse_answer("rollback", "--on-diverge", true), Answer::rollback);
  EXPECT_COMPLAINT(parse_answer("rollback", "--on-stall", false), UsageError, "warn or stop");
  EXPECT_COMPLAINT(parse_answer("halt", "--on-diverge", true), UsageError, "'halt'");
}

}  // namespace
}  // namespace plimsoll
