#include "run/watchdog.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace plimsoll {
namespace {

constexpr double kLossSmoothing = 0.95;
// A step is bad when its loss is so many times the larger of the first loss and the smoothed best:
// a network that knows nothing starts at the first loss, so beyond is worse than knowing nothing.
constexpr double kFarAbove = 3;
constexpr std::int64_t kHighSteps = 10;
constexpr double kLeastReference = 0.1;
// No better by half a percent for so long is a plateau.
constexpr double kBetter = 0.995;
constexpr std::int64_t kPlateauEpochs = 10;
constexpr std::int64_t kPlateauSteps = 2000;

}  // namespace

Answer parse_answer(const std::string& text, const char* option, bool may_roll_back) {
  if (text == "warn") return Answer::warn;
  if (text == "stop") return Answer::stop;
  if (may_roll_back && text == "rollback") return Answer::rollback;
  throw UsageError(
      {.where = option,
       .got = "'" + text + "'",
       .expected = may_roll_back ? "expected warn, stop or rollback" : "expected warn or stop"});
}

std::optional<Alarm> watch_loss(RunState& state, double loss, std::int64_t steps_per_epoch) {
  if (!state.first_loss) state.first_loss = loss;
  state.smooth_loss =
      state.smooth_loss ? kLossSmoothing * *state.smooth_loss + (1 - kLossSmoothing) * loss : loss;
  if (!state.best_loss || *state.smooth_loss < kBetter * *state.best_loss) {
    state.best_loss = state.smooth_loss;
    state.best_loss_step = state.step;
  }
  const double reference = std::max({*state.first_loss, *state.best_loss, kLeastReference});
  state.high_steps = loss > kFarAbove * reference ? state.high_steps + 1 : 0;
  if (state.high_steps >= kHighSteps) {
    state.high_steps = 0;
    return Alarm{
        StopReason::diverged,
        fmt::format("the loss is {:.4g} and was above {:.4g} for {} steps; it "
                    "began at {:.4g}, its smoothed best is {:.4g}",
                    loss, kFarAbove * reference, kHighSteps, *state.first_loss, *state.best_loss)};
  }
  const std::int64_t patience = std::max(kPlateauSteps, kPlateauEpochs * steps_per_epoch);
  if (state.step - state.best_loss_step == patience)
    return Alarm{StopReason::plateau,
                 fmt::format("the training loss has not fallen for {} steps; its smoothed best was "
                             "{:.4g} at step {}",
                             patience, *state.best_loss, state.best_loss_step)};
  return std::nullopt;
}

}  // namespace plimsoll
