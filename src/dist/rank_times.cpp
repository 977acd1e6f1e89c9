#include "dist/rank_times.h"

#include <algorithm>
#include <cmath>

namespace plimsoll::dist {
namespace {

// The least that any rank waited in a step.
double exchange_in(std::span<const StepTimes> ranks, std::size_t step) {
  double least = ranks[0][step].waited;
  for (const StepTimes& times : ranks) least = std::min(least, times[step].waited);
  return least;
}

}  // namespace

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

std::vector<RankTimes> split_times(std::span<const StepTimes> ranks) {
  std::vector<RankTimes> found;
  for (const StepTimes& times : ranks) {
    std::vector<double> seconds, compute, exchange, waiting;
    for (std::size_t step = 0; step < times.size(); ++step) {
      const double least = exchange_in(ranks, step);
      seconds.push_back(times[step].seconds);
      compute.push_back(times[step].seconds - times[step].waited);
      exchange.push_back(least);
      waiting.push_back(times[step].waited - least);
    }
    found.push_back({.seconds = median(std::move(seconds)),
                     .compute = median(std::move(compute)),
                     .exchange = median(std::move(exchange)),
                     .waiting = median(std::move(waiting))});
  }
  return found;
}

double step_seconds(std::span<const StepTimes> ranks) {
  std::vector<double> slowest;
  for (std::size_t step = 0; step < ranks[0].size(); ++step) {
    double most = 0;
    for (const StepTimes& times : ranks) most = std::max(most, times[step].seconds);
    slowest.push_back(most);
  }
  return median(std::move(slowest));
}

double spread_of(std::span<const StepTimes> ranks) {
  if (ranks.size() < 2) return 0;
  std::vector<double> excess;
  for (std::size_t step = 0; step < ranks[0].size(); ++step) {
    double most = 0;
    double sum = 0;
    for (const StepTimes& times : ranks) {
      const double compute = times[step].seconds - times[step].waited;
      most = std::max(most, compute);
      sum += compute;
    }
    const double mean = sum / static_cast<double>(ranks.size());
    excess.push_back(most / mean - 1);
  }
  return median(std::move(excess)) / expected_excess(static_cast<int>(ranks.size()));
}

// Blom's approximation: the normal deviate below which (count - 3/8) / (count + 1/4) of all lie.
double expected_excess(int count) {
  if (count < 2) return 0;
  const double share = (count - 0.375) / (count + 0.25);
  double low = 0;
  double high = 8;
  for (int halving = 0; halving < 60; ++halving) {
    const double middle = (low + high) / 2;
    (0.5 * std::erfc(-middle / std::sqrt(2.0)) < share ? low : high) = middle;
  }
  return low;
}

}  // namespace plimsoll::dist
