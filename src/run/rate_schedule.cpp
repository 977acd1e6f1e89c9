#include "run/rate_schedule.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "base/error.h"
#include "base/text.h"

namespace plimsoll {
namespace {

constexpr double kPi = 3.14159265358979323846;

[[noreturn]] void refuse(const std::string& got, const std::string& expected,
                         const std::string& hint = {}) {
  throw UsageError({.where = "--schedule", .got = got, .expected = expected, .hint = hint});
}

double parse_number(std::string_view text, const std::string& where) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    refuse("'" + where + "'", "expected a number behind the =");
  return value;
}

// The words behind the colon, each taken once.
class Settings {
 public:
  Settings(std::string_view text, std::int64_t steps_per_epoch)
      : steps_per_epoch_(static_cast<double>(steps_per_epoch)) {
    if (text.empty()) return;
    for (std::string_view part : split(text, ',')) {
      const std::size_t equals = part.find('=');
      if (equals == std::string_view::npos || equals == 0)
        refuse("'" + std::string(part) + "'", "expected key=value");
      values_.emplace_back(trim(part.substr(0, equals)), trim(part.substr(equals + 1)));
    }
  }
  double number(std::string_view key, double otherwise) {
    const auto found = find(key);
    return found.empty() ? otherwise : parse_number(found, std::string(key) + "=" + found);
  }
  double positive(std::string_view key, double otherwise) {
    const double value = number(key, otherwise);
    if (!(value > 0))
      refuse(std::string(key) + " is not given or not positive",
             "expected " + std::string(key) + "= a positive number");
    return value;
  }
  // Steps; "30e" are epochs.
  double length(std::string_view key) { return length_of(find(key), std::string(key)); }
  double length_of(std::string text, const std::string& key) const {
    const bool epochs = text.ends_with("e");
    if (epochs) text.pop_back();
    const double value = text.empty() ? 0 : parse_number(text, key + "=" + text);
    const double steps = epochs ? value * steps_per_epoch_ : value;
    if (!(steps >= 1 && steps < 1e15))
      refuse(key + " is not given or less than a step", "expected steps, or epochs like 30e");
    return steps;
  }
  bool has(std::string_view key) const {
    return std::any_of(values_.begin(), values_.end(),
                       [&](const auto& value) { return value.first == key; });
  }
  std::vector<std::pair<std::string, std::string>> take_all() { return std::move(values_); }
  void end(const std::string& name) const {
    if (!values_.empty() && !taken_all())
      refuse(name + " has no setting '" + unknown() + "'",
             "expected those of `plimsoll help train`");
  }

 private:
  std::string find(std::string_view key) {
    for (const auto& [name, value] : values_)
      if (name == key) {
        taken_.push_back(name);
        return value;
      }
    return {};
  }
  std::string unknown() const {
    for (const auto& [name, value] : values_)
      if (std::find(taken_.begin(), taken_.end(), name) == taken_.end()) return name;
    return {};
  }
  bool taken_all() const { return unknown().empty(); }

  double steps_per_epoch_;
  std::vector<std::pair<std::string, std::string>> values_;
  std::vector<std::string> taken_;
};

double half_cosine(double from, double to, double share) {
  return to + (from - to) * 0.5 * (1 + std::cos(kPi * share));
}

}  // namespace

RateSchedule::RateSchedule(const ScheduleOptions& options, double peak, std::int64_t steps,
                           std::int64_t steps_per_epoch)
    : peak_(peak),
      warmup_(options.warmup),
      steps_(std::max<std::int64_t>(1, steps - options.warmup)) {
  const std::vector<std::pair<std::string, Kind>> kinds{
      {"constant", Kind::constant},   {"step", Kind::step},      {"exponential", Kind::exponential},
      {"poly", Kind::poly},           {"cosine", Kind::cosine},  {"one-cycle", Kind::one_cycle},
      {"piecewise", Kind::piecewise}, {"plateau", Kind::plateau}};
  if (warmup_ < 0)
    throw UsageError(
        {.where = "--warmup", .got = std::to_string(warmup_), .expected = "expected 0 or more"});
  const std::size_t colon = options.name.find(':');
  const std::string name = options.name.substr(0, colon);
  const auto found = std::find_if(kinds.begin(), kinds.end(),
                                  [&](const auto& kind) { return kind.first == name; });
  if (found == kinds.end()) {
    std::vector<std::string> names;
    for (const auto& kind : kinds) names.push_back(kind.first);
    refuse("there is no schedule '" + name + "'", "expected one of " + join(names, ", "),
           did_you_mean(nearest(name, names)));
  }
  kind_ = found->second;
  Settings settings(colon == std::string::npos ? std::string_view()
                                               : std::string_view(options.name).substr(colon + 1),
                    steps_per_epoch);
  switch (kind_) {
    case Kind::constant: break;
    case Kind::step:
      every_ = settings.length("every");
      factor_ = settings.positive("factor", 0.1);
      staircase_ = true;
      break;
    case Kind::exponential:
      every_ = settings.length("every");
      factor_ = settings.positive("rate", 0);
      staircase_ = settings.number("staircase", 0) != 0;
      break;
    case Kind::poly:
      power_ = settings.positive("power", 1);
      end_ = settings.number("end", 0);
      break;
    case Kind::cosine:
      end_ = settings.number("end", 0);
      if (!settings.has("first")) break;
      first_ = settings.length("first");
      times_ = settings.positive("times", 2);
      scale_ = settings.positive("scale", 1);
      if (times_ < 1) refuse("times=" + std::to_string(times_), "expected 1 or more");
      break;
    case Kind::one_cycle:
      rise_ = settings.positive("rise", 0.3);
      start_ = settings.positive("start", 25);
      final_ = settings.positive("final", 1e4);
      if (rise_ >= 1) refuse("rise=" + std::to_string(rise_), "expected less than 1");
      break;
    case Kind::plateau:
      plateau_.factor = settings.positive("factor", 0.1);
      plateau_.patience = static_cast<std::int64_t>(settings.positive("patience", 10));
      plateau_.delta = settings.number("delta", 1e-4);
      plateau_.least = settings.number("least", 0);
      if (plateau_.factor >= 1)
        refuse("factor=" + std::to_string(plateau_.factor), "expected less than 1");
      break;
    case Kind::piecewise:
      for (const auto& [from, rate] : settings.take_all())
        pieces_.emplace_back(static_cast<std::int64_t>(settings.length_of(from, "piecewise")),
                             parse_number(rate, from + "=" + rate));
      if (pieces_.empty()) refuse("piecewise without pieces", "expected piecewise:STEP=RATE,...");
      std::sort(pieces_.begin(), pieces_.end());
      break;
  }
  settings.end(name);
}

double RateSchedule::rate(std::int64_t step) const {
  if (step < warmup_)
    return peak_ * static_cast<double>(step + 1) / static_cast<double>(warmup_ + 1);
  return decayed(step - warmup_);
}

double RateSchedule::decayed(std::int64_t step) const {
  const auto at = static_cast<double>(step);
  const double share = std::min(1.0, at / static_cast<double>(steps_));
  switch (kind_) {
    case Kind::constant:
    case Kind::plateau: return peak_;
    case Kind::step:
    case Kind::exponential:
      return peak_ * std::pow(factor_, staircase_ ? std::floor(at / every_) : at / every_);
    case Kind::poly: return (peak_ - end_) * std::pow(1 - share, power_) + end_;
    case Kind::cosine:
      if (first_ > 0) return restarted(at);
      return half_cosine(peak_, peak_ * end_, share);
    case Kind::one_cycle: {
      // PyTorch counts from the first step to the last one.
      const double last = static_cast<double>(std::max<std::int64_t>(1, steps_ - 1));
      const double top = std::max(1e-9, rise_ * static_cast<double>(steps_) - 1);
      const double start = peak_ / start_;
      if (at <= top) return half_cosine(start, peak_, at / top);
      return half_cosine(peak_, start / final_, std::min(1.0, (at - top) / (last - top)));
    }
    case Kind::piecewise: {
      double rate = peak_;
      for (const auto& [from, value] : pieces_)
        if (step >= from) rate = value;
      return rate;
    }
  }
  bug("a schedule of an unknown kind");
}

double RateSchedule::restarted(double step) const {
  double share = step / first_;
  double cycle = 0;
  if (times_ == 1) {
    cycle = std::floor(share);
    share -= cycle;
  } else {
    cycle = std::floor(std::log(1 - share * (1 - times_)) / std::log(times_));
    const double sum = (1 - std::pow(times_, cycle)) / (1 - times_);
    share = (share - sum) / std::pow(times_, cycle);
  }
  const double height = std::pow(scale_, cycle);
  return peak_ * ((1 - end_) * 0.5 * height * (1 + std::cos(kPi * share)) + end_);
}

}  // namespace plimsoll
