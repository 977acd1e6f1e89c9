#include "run/policy.h"

#include <algorithm>
#include <cmath>

namespace plimsoll {

double monitored_value(const Task& task, const std::optional<std::size_t>& metric,
                       const Evaluation& evaluation) {
  if (!metric) return evaluation.loss;
  const double value = evaluation.metrics[*metric];
  return task.metrics()[*metric].higher_is_better ? -value : value;
}

bool note_validation(RunState& state, double monitored, std::int64_t epoch, bool is_whole) {
  if (std::isfinite(monitored) && (!state.best || monitored < *state.best)) {
    state.best = monitored;
    state.best_epoch = epoch;
    state.stale_epochs = 0;
    return true;
  }
  if (is_whole) ++state.stale_epochs;
  return false;
}

bool is_enough(const RunState& state, std::int64_t patience) {
  return patience > 0 && state.stale_epochs >= patience;
}

bool follow_plateau(RunState& state, const RateSchedule::PlateauRule& rule, double peak,
                    double loss) {
  if (!state.plateau_best || loss < *state.plateau_best - rule.delta) {
    state.plateau_best = loss;
    state.plateau_epochs = 0;
    return false;
  }
  if (++state.plateau_epochs < rule.patience) return false;
  state.plateau_epochs = 0;
  const double least = rule.least / peak;
  if (state.lr_scale <= least) return false;
  state.lr_scale = std::max(state.lr_scale * rule.factor, least);
  return true;
}

RunState rolled_back(const RunState& now, const RunState& checkpoint, double factor) {
  RunState state = checkpoint;
  state.lr_scale = now.lr_scale * factor;
  state.rollbacks = now.rollbacks + 1;
  state.high_steps = 0;
  return state;
}

}  // namespace plimsoll
