#include "run/rate_sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "step/evaluation.h"

namespace plimsoll {
namespace {

constexpr double kSweepSmoothing = 0.9;
constexpr double kExploded = 4;  // times the lowest smoothed loss
// The curve begins where the mean has seen enough steps, and it must fall by this share at least.
constexpr std::size_t kSettled = 10;
constexpr double kLeastFall = 0.05;

// Steps with the rates that `rate_of` gives until it gives nothing, the loss is not finite or
// `progress` says no.
template <class RateOf>
std::vector<RateLoss> run_steps(Trainer& trainer, const RunData& data, RateOf rate_of,
                                const SweepProgress& progress) {
  std::vector<RateLoss> curve;
  double mean = 0;
  double weight = 0;
  std::int64_t samples = 0;
  data.train.start(0, 0);
  for (std::int64_t step = 0;; ++step) {
    const std::optional<double> rate = rate_of(step, curve);
    if (!rate) break;
    const std::optional<Batch> batch = data.train.next();
    expect(batch.has_value(), "a pipeline that repeats has a next batch");
    const StepResult result =
        trainer.train_batch(batch->whole, static_cast<float>(*rate), step, samples,
                            [&](const StepTensors& inputs, std::int64_t first, std::int64_t count) {
                              fill_inputs(*batch, data.normalisation, trainer.task(), inputs,
                                          first - batch->offset, count);
                            });
    samples += batch->whole;
    if (!std::isfinite(result.gradient_norm)) break;
    mean = kSweepSmoothing * mean + (1 - kSweepSmoothing) * result.loss;
    weight = kSweepSmoothing * weight + (1 - kSweepSmoothing);
    curve.push_back({*rate, result.loss, mean / weight});
    if (!progress(step + 1, curve.back())) break;
  }
  return curve;
}

}  // namespace

std::vector<RateLoss> sweep_rates(Trainer& trainer, const RunData& data,
                                  const SweepOptions& options, const SweepProgress& progress) {
  double lowest = std::numeric_limits<double>::infinity();
  return run_steps(
      trainer, data,
      [&](std::int64_t step, const std::vector<RateLoss>& curve) -> std::optional<double> {
        if (!curve.empty()) lowest = std::min(lowest, curve.back().smoothed);
        const bool exploded = curve.size() > kSettled && curve.back().smoothed > kExploded * lowest;
        if (step >= options.steps || exploded) return std::nullopt;
        const double share = static_cast<double>(step) /
                             static_cast<double>(std::max<std::int64_t>(1, options.steps - 1));
        return options.lowest * std::pow(options.highest / options.lowest, share);
      },
      progress);
}

std::vector<RateLoss> try_rate(Trainer& trainer, const RunData& data, double rate,
                               std::int64_t steps, const SweepProgress& progress) {
  return run_steps(
      trainer, data,
      [&](std::int64_t step, const std::vector<RateLoss>&) -> std::optional<double> {
        if (step >= steps) return std::nullopt;
        return rate;
      },
      progress);
}

RateSuggestion suggest_rate(const std::vector<RateLoss>& curve) {
  if (curve.size() < kSettled + 5)
    return {std::nullopt, fmt::format("only {} steps had a finite loss", curve.size())};
  const auto begin = curve.begin() + kSettled;
  const auto lowest = std::min_element(
      begin, curve.end(),
      [](const RateLoss& a, const RateLoss& b) { return a.smoothed < b.smoothed; });
  const double start = begin->smoothed;
  if (lowest->smoothed > (1 - kLeastFall) * start)
    return {std::nullopt,
            fmt::format("the loss fell by less than {:.0f} % at any rate (from {:.4g} to {:.4g}); "
                        "try more --steps or a larger batch",
                        100 * kLeastFall, start, lowest->smoothed)};
  // The steepest descent between the beginning and the lowest point, over a window of steps.
  constexpr std::ptrdiff_t kWindow = 5;
  auto steepest = begin;
  double slope = 0;
  for (auto at = begin; at + kWindow < curve.end() && at < lowest; ++at) {
    const double fall =
        ((at + kWindow)->smoothed - at->smoothed) / std::log((at + kWindow)->rate / at->rate);
    if (fall < slope) {
      slope = fall;
      steepest = at + kWindow / 2;
    }
  }
  // The mean lags behind the loss by about 1 / (1 - smoothing) steps.
  const auto lag = static_cast<std::ptrdiff_t>(1 / (1 - kSweepSmoothing) / 2);
  const auto chosen = std::max(begin, steepest - lag);
  return {
      chosen->rate,
      fmt::format("the loss falls fastest around {:.2g} (from {:.4g}); its lowest point, {:.4g}, "
                  "is at {:.2g}",
                  chosen->rate, start, lowest->smoothed, lowest->rate)};
}

}  // namespace plimsoll
