#include "dist/forecast.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace plimsoll::dist {
namespace {

// A number with one of these units behind it.
std::optional<double> quantity(std::string_view text,
                               std::initializer_list<std::pair<std::string_view, double>> units) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || !(value > 0)) return std::nullopt;
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  for (const auto& [name, scale] : units)
    if (unit == name) return value * scale;
  return std::nullopt;
}

}  // namespace

Link parse_link(const std::string& text, const char* where) {
  const std::size_t comma = std::min(text.find(','), text.size());
  const std::optional<double> bits = quantity(std::string_view(text).substr(0, comma),
                                              {{"Gbit", 1e9}, {"Mbit", 1e6}, {"Tbit", 1e12}});
  const std::optional<double> latency = comma == text.size()
                                            ? std::optional(50e-6)
                                            : quantity(std::string_view(text).substr(comma + 1),
                                                       {{"us", 1e-6}, {"ms", 1e-3}, {"ns", 1e-9}});
  if (!bits || !latency)
    throw UsageError({.where = where,
                      .got = "'" + text + "'",
                      .expected = "expected a rate and a latency: 10Gbit,50us"});
  return {.bytes_per_second = *bits / 8, .latency = *latency};
}

Forecast forecast(const RankStep& step, const Link& link, int ranks, int links,
                  const LinkModel& model) {
  if (ranks <= 1) return {.seconds = step.seconds, .efficiency = 1};
  const double rounds = 2 * std::log2(static_cast<double>(ranks));
  const double apart = static_cast<double>(links - 1) / static_cast<double>(links);
  double free = 0;
  for (const RankStep::Bucket& bucket : step.buckets) {
    const double begin = std::max(bucket.ready, free);
    free = begin + rounds * link.latency +
           2 * apart * bucket.bytes / (model.share * link.bytes_per_second) +
           bucket.bytes * model.add_seconds;
  }
  Forecast found;
  found.exposed = std::max(0.0, free - step.backward_end);
  found.waiting = step.seconds * model.spread * std::sqrt(2 * std::log(static_cast<double>(ranks)));
  found.seconds = step.seconds + found.waiting + found.exposed + rounds * link.latency;
  found.efficiency = step.seconds / found.seconds;
  return found;
}

}  // namespace plimsoll::dist
