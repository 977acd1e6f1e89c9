#include "draw/training_pictures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/bytes.h"
#include "draw/line_chart.h"

namespace plimsoll::draw {
namespace {

constexpr std::string_view kTraining = "#1f6fb4", kValidation = "#e07b00", kRate = "#6b4fbb",
                           kBest = "#2a7d4c", kBudget = "#c00000", kPredicted = "#6b4fbb";
// More dots than this run together.
constexpr std::size_t kMostDots = 60;
// A budget far above what was used would press the curve flat; it is then only named.
constexpr double kShownBudget = 1.6;

Series series_of(std::string name, std::span<const ResultPoint> rows, double ResultPoint::*field,
                 std::string_view colour) {
  Series series{.name = std::move(name), .dots = rows.size() <= kMostDots, .colour = colour};
  for (const ResultPoint& row : rows) series.points.push_back({row.epoch, row.*field});
  return series;
}

bool has_values(const Series& series) {
  return std::ranges::any_of(series.points, [](Point p) { return std::isfinite(p.y); });
}

// The row that is best by the metric in validation, or by validation loss where there is none.
const ResultPoint* find_best(std::span<const ResultPoint> rows, bool higher_is_better) {
  const ResultPoint* best = nullptr;
  const double sign = higher_is_better ? 1 : -1;
  for (const ResultPoint& row : rows)
    if (std::isfinite(row.val_metric) && (!best || sign * row.val_metric > sign * best->val_metric))
      best = &row;
  if (best) return best;
  for (const ResultPoint& row : rows)
    if (std::isfinite(row.val_loss) && (!best || row.val_loss < best->val_loss)) best = &row;
  return best;
}

std::string percent(double share) { return fmt::format("{:.1f} %", share * 100); }

std::string bytes_text(double bytes) { return to_string(Bytes{static_cast<std::int64_t>(bytes)}); }

struct TimeUnit {
  const char* name;
  double seconds;
};

TimeUnit time_unit(double longest) {
  if (longest < 180) return {"seconds since the run began", 1};
  if (longest < 3 * 3600) return {"minutes since the run began", 60};
  return {"hours since the run began", 3600};
}

}  // namespace

std::string curves_picture(std::string_view name, const ShownMetric& shown,
                           std::span<const ResultPoint> rows) {
  LineChart chart{.title = fmt::format("{}: training curves", name),
                  .x_name = "epoch",
                  .x_scale = Scale::whole};
  const auto text = [&](double value) {
    return shown.is_share ? percent(value) : number_text(value);
  };
  const auto both = [&](const std::string& title, Scale scale, double ResultPoint::*train,
                        double ResultPoint::*validation) {
    Panel panel{.title = title, .scale = scale, .low = 0};
    Series first = series_of("training", rows, train, kTraining);
    if (has_values(first)) panel.series.push_back(std::move(first));
    Series second = series_of("validation", rows, validation, kValidation);
    if (has_values(second)) panel.series.push_back(std::move(second));
    return panel;
  };
  Panel loss =
      both("loss (lower is better)", Scale::linear, &ResultPoint::loss, &ResultPoint::val_loss);
  Panel metric = both(
      fmt::format("{} ({} is better)", shown.name, shown.higher_is_better ? "higher" : "lower"),
      shown.is_share ? Scale::share : Scale::linear, &ResultPoint::metric,
      &ResultPoint::val_metric);
  if (shown.is_share) metric.high = 1;
  if (const ResultPoint* best = find_best(rows, shown.higher_is_better)) {
    const bool by_metric = std::isfinite(best->val_metric);
    const std::string what =
        by_metric ? fmt::format("validation {} {}", shown.name, text(best->val_metric))
                  : "validation loss " + number_text(best->val_loss);
    chart.subtitle =
        fmt::format("best: {} after epoch {}; {} so far", what, number_text(best->epoch),
                    rows.size() == 1 ? "1 epoch" : fmt::format("{} epochs", rows.size()));
    const Mark mark{.name = fmt::format("best: {}", by_metric ? text(best->val_metric)
                                                              : number_text(best->val_loss)),
                    .at = best->epoch,
                    .colour = kBest};
    (by_metric ? metric : loss).vertical.push_back(mark);
  }
  Panel rate{.title = "learning rate", .low = 0, .height = 110};
  rate.series.push_back(series_of("", rows, &ResultPoint::lr, kRate));
  chart.panels.push_back(std::move(loss));
  if (!metric.series.empty()) chart.panels.push_back(std::move(metric));
  chart.panels.push_back(std::move(rate));
  return line_chart_svg(chart);
}

std::string memory_picture(std::string_view name, std::span<const MemorySample> samples,
                           std::int64_t predicted_bytes, std::optional<std::int64_t> budget_bytes) {
  double longest = 0, highest = 0;
  for (const MemorySample& sample : samples) {
    if (std::isfinite(sample.seconds)) longest = std::max(longest, sample.seconds);
    highest = std::max(highest, static_cast<double>(sample.resident_bytes));
  }
  const TimeUnit unit = time_unit(longest);
  const auto predicted = static_cast<double>(predicted_bytes);
  Panel panel{.title = "memory of the process", .scale = Scale::bytes, .low = 0, .height = 340};
  Series resident{.name = "resident, by the kernel's count", .colour = kTraining};
  for (const MemorySample& sample : samples)
    resident.points.push_back(
        {sample.seconds / unit.seconds, static_cast<double>(sample.resident_bytes)});
  panel.series.push_back(std::move(resident));
  panel.horizontal.push_back({"predicted " + bytes_text(predicted), predicted, kPredicted});
  std::string budget = "no budget was set";
  if (budget_bytes) {
    const auto limit = static_cast<double>(*budget_bytes);
    budget = "budget " + bytes_text(limit);
    if (limit < kShownBudget * std::max(highest, predicted))
      panel.horizontal.push_back({budget, limit, kBudget});
  }
  return line_chart_svg(
      {.title = fmt::format("{}: memory over time", name),
       .subtitle = fmt::format("highest sample {}, predicted before the run {}, {}",
                               bytes_text(highest), bytes_text(predicted), budget),
       .x_name = unit.name,
       .panels = {std::move(panel)}});
}

std::string learning_rate_picture(std::string_view name, std::span<const RatePoint> curve,
                                  std::optional<double> suggestion, std::string_view reason) {
  Series each{.name = "loss of each step", .line = false, .colour = "#9db8cf"};
  Series smoothed{.name = "smoothed", .colour = kTraining};
  Extent shown(Scale::linear), dots(Scale::linear);
  double start = kNoValue;
  for (const RatePoint& point : curve) {
    each.points.push_back({point.rate, point.loss});
    smoothed.points.push_back({point.rate, point.smoothed});
    const double value = std::isfinite(point.smoothed) ? point.smoothed : point.loss;
    shown.add(value);
    dots.add(point.loss);
    if (!std::isfinite(start) && std::isfinite(value)) start = value;
  }
  Panel panel{.title = "loss (lower is better)", .height = 340};
  // Where the sweep diverges the loss grows without end; the fall before it is what is read.
  if (std::isfinite(start)) {
    const double fall = std::max(start - shown.low(), 0.05 * std::abs(start));
    panel.low = std::min(shown.low() - 0.1 * fall, dots.low() - 0.05 * fall);
    panel.high = std::min(start + 0.8 * fall, std::max(shown.high(), start) + 0.1 * fall);
  }
  if (!has_values(smoothed)) each.line = true;
  panel.series.push_back(std::move(each));
  if (has_values(smoothed)) panel.series.push_back(std::move(smoothed));
  if (suggestion)
    panel.vertical.push_back({"suggestion " + number_text(*suggestion), *suggestion, kBest});
  return line_chart_svg({.title = fmt::format("{}: loss against learning rate", name),
                         .subtitle = suggestion ? fmt::format("suggested: --lr {}; {}",
                                                              number_text(*suggestion), reason)
                                                : fmt::format("no suggestion; {}", reason),
                         .x_name = "learning rate (logarithmic)",
                         .x_scale = Scale::logarithmic,
                         .panels = {std::move(panel)}});
}

}  // namespace plimsoll::draw
