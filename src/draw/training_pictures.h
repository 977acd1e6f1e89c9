// The pictures of a training run, from plain numbers. Each is a whole SVG file that explains
// itself: what it shows, in which units, and what to see in it.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace plimsoll::draw {

inline constexpr double kNoValue = std::numeric_limits<double>::quiet_NaN();

// A line of results.csv, as far as it is drawn. What was not measured is kNoValue.
struct ResultPoint {
  double epoch = 0;
  double loss = kNoValue, metric = kNoValue;
  double val_loss = kNoValue, val_metric = kNoValue;
  double lr = kNoValue;
};

// What ResultPoint::metric is.
struct ShownMetric {
  std::string name = "accuracy";
  bool is_share = true;  // of 1, told in percent
  bool higher_is_better = true;
};

// Loss, metric and learning rate over the epochs; the best validation result is marked. `name`: of
// the run, for the title.
std::string curves_picture(std::string_view name, const ShownMetric& metric,
                           std::span<const ResultPoint> rows);

struct MemorySample {
  double seconds = 0;  // since the run began
  std::int64_t resident_bytes = 0;
};

// Resident memory over time, beside what was predicted and what was allowed (nothing: unlimited).
std::string memory_picture(std::string_view name, std::span<const MemorySample> samples,
                           std::int64_t predicted_bytes, std::optional<std::int64_t> budget_bytes);

struct RatePoint {
  double rate = 0;
  double loss = kNoValue;      // of one step
  double smoothed = kNoValue;  // as the suggestion was read from
};

// Loss against the learning rate of a sweep, and the suggested rate if there is one. `reason`: why
// it is suggested, or why none is, in some words.
std::string learning_rate_picture(std::string_view name, std::span<const RatePoint> curve,
                                  std::optional<double> suggestion, std::string_view reason);

}  // namespace plimsoll::draw
