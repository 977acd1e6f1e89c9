// Which learning rate suits a run: a sweep over rates in one pass, or short runs at a few.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "run/run.h"

namespace plimsoll {

struct RateLoss {
  double rate = 0;
  double loss = 0;      // of the step at this rate
  double smoothed = 0;  // over the steps before it, without the bias of the beginning
};

struct RateSuggestion {
  std::optional<double> rate;  // nothing: no rate made the loss fall
  std::string reason;
};

struct SweepOptions {
  double lowest = 1e-6, highest = 10;
  std::int64_t steps = 100;
};

// Called after every step; false ends the sweep.
using SweepProgress = std::function<bool(std::int64_t step, const RateLoss& now)>;

// One step at each of `steps` rates, evenly spaced in their logarithm, from the weights in the
// trainer; ends early where the loss explodes. The weights are then worthless: the caller puts the
// starting ones back.
std::vector<RateLoss> sweep_rates(Trainer& trainer, const RunData& data,
                                  const SweepOptions& options, const SweepProgress& progress);

// Where the smoothed loss falls fastest by the logarithm of the rate: beyond, it still falls, but
// less for each step in rate, and near its lowest point a run is on the brink.
RateSuggestion suggest_rate(const std::vector<RateLoss>& curve);

// The losses of `steps` steps at a constant rate, from the weights in the trainer; shorter where
// they stop being finite.
std::vector<RateLoss> try_rate(Trainer& trainer, const RunData& data, double rate,
                               std::int64_t steps, const SweepProgress& progress);

}  // namespace plimsoll
