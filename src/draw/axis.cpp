#include "draw/axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

namespace plimsoll::draw {
namespace {

constexpr LineStyle kGrid{.colour = "#e4e4e4"};
constexpr std::string_view kLabelColour = "#444";

struct ByteUnit {
  std::string_view name;
  double bytes;
};
constexpr ByteUnit kByteUnits[] = {
    {"TiB", 0x1p40}, {"GiB", 0x1p30}, {"MiB", 0x1p20}, {"KiB", 0x1p10}, {"B", 1}};

// The least of 1, 2, 5, 10, 20, ... that is no less than `least`.
double round_step(double least) {
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double digit : {1.0, 2.0, 5.0})
    if (digit * power >= least * (1 - 1e-9)) return digit * power;
  return 10 * power;
}

// Decimals that tell multiples of `step` apart.
int decimals_of(double step) {
  int decimals = 0;
  for (double rest = step; decimals < 12 && std::abs(rest - std::round(rest)) > 1e-6 * rest;
       rest = step * std::pow(10, decimals))
    ++decimals;
  return decimals;
}

template <typename Label>
std::vector<Tick> multiples(double step, double low, double high, const Label& label) {
  std::vector<Tick> ticks;
  const double slack = step * 1e-6;
  for (double k = std::ceil((low - slack) / step); k * step <= high + slack; ++k)
    ticks.push_back({k * step, label(k * step)});
  return ticks;
}

std::vector<Tick> linear_ticks(double low, double high, int wanted, bool whole) {
  double step = round_step((high - low) / wanted);
  if (whole) step = std::max(step, 1.0);
  const double largest = std::max(std::abs(low), std::abs(high));
  if (largest >= 1e6 || largest < 1e-3)
    return multiples(step, low, high, [&](double v) {
      return std::abs(v) < step / 2 ? std::string("0") : number_text(v);
    });
  return multiples(step, low, high, [decimals = decimals_of(step)](double v) {
    return fmt::format("{:.{}f}", v + 0.0, decimals);
  });
}

std::vector<Tick> byte_ticks(double low, double high, int wanted) {
  double step = 1;
  while ((high - low) / step > wanted) step *= 2;
  const ByteUnit* unit = std::ranges::find_if(
      kByteUnits, [&](const ByteUnit& u) { return high >= u.bytes || u.bytes == 1; });
  const int decimals = decimals_of(step / unit->bytes);
  return multiples(step, low, high, [&](double v) {
    return v == 0 ? std::string("0")
                  : fmt::format("{:.{}f} {}", v / unit->bytes, decimals, unit->name);
  });
}

std::vector<Tick> logarithmic_ticks(double low, double high, int wanted) {
  const double first = std::floor(std::log10(low)), last = std::ceil(std::log10(high));
  const double every = std::max(1.0, std::ceil((last - first) / wanted));
  const bool is_short = last - first <= 3;
  std::vector<Tick> ticks;
  for (double power = first; power <= last; power += every)
    for (const double digit : {1.0, 2.0, 5.0}) {
      const double value = digit * std::pow(10, power);
      if (value < low * (1 - 1e-9) || value > high * (1 + 1e-9)) continue;
      if (digit == 1 || is_short) ticks.push_back({value, number_text(value)});
    }
  return ticks;
}

}  // namespace

std::string number_text(double value) {
  std::string text = fmt::format("{:.3g}", value);
  const double size = std::abs(value);
  if (size >= 1e3 && size < 1e6) text = fmt::format("{:.0f}", value);
  // "1e-05" and "1e+06" have digits that say nothing.
  const std::size_t exponent = text.find('e');
  if (exponent == std::string::npos) return text;
  std::size_t digits = exponent + 1;
  if (text[digits] == '+') text.erase(digits, 1);
  if (text[digits] == '-') ++digits;
  while (text[digits] == '0' && digits + 1 < text.size()) text.erase(digits, 1);
  return text;
}

void Extent::add(double value) {
  if (!std::isfinite(value) || std::abs(value) > 1e300) return;
  if (scale_ == Scale::logarithmic && value <= 0) return;
  low_ = std::min(low_, value);
  high_ = std::max(high_, value);
}

void Extent::add(std::span<const double> values) {
  for (const double value : values) add(value);
}

Axis::Axis(Scale scale, double low, double high, double from, double to)
    : scale_(scale), low_(low), high_(high), from_(from), to_(to) {
  const auto is_usable = [&](double v) {
    return std::isfinite(v) && std::abs(v) <= 1e300 && (scale != Scale::logarithmic || v > 0);
  };
  if (!is_usable(low_) || !is_usable(high_) || low_ > high_) {
    low_ = scale == Scale::logarithmic ? 0.1 : 0;
    high_ = 1;
  }
  // A single value gets room around it.
  const double narrowest = std::max(std::abs(high_), 1e-12) * 1e-6;
  if (scale_ == Scale::logarithmic) {
    if (std::log10(high_ / low_) < 0.1) {
      low_ /= 2;
      high_ *= 2;
    }
  } else if (high_ - low_ < narrowest) {
    const double room = scale_ == Scale::whole ? 1 : low_ == 0 ? 1 : std::abs(low_) * 0.1;
    if (low_ != 0) low_ -= room;
    high_ += room;
  }
}

bool Axis::has_place(double value) const {
  return std::isfinite(value) && (scale_ != Scale::logarithmic || value > 0);
}

double Axis::at(double value) const {
  const auto place = [&](double v) { return scale_ == Scale::logarithmic ? std::log(v) : v; };
  return from_ + (to_ - from_) * ((place(value) - place(low_)) / (place(high_) - place(low_)));
}

std::vector<Tick> Axis::ticks(int wanted) const {
  switch (scale_) {
    case Scale::linear: return linear_ticks(low_, high_, wanted, false);
    case Scale::whole: return linear_ticks(low_, high_, wanted, true);
    case Scale::bytes: return byte_ticks(low_, high_, wanted);
    case Scale::logarithmic: return logarithmic_ticks(low_, high_, wanted);
    case Scale::share: {
      const double step = round_step((high_ - low_) / wanted);
      return multiples(step, low_, high_, [decimals = decimals_of(step * 100)](double v) {
        return fmt::format("{:.{}f} %", v * 100 + 0.0, decimals);
      });
    }
  }
  return {};
}

void draw_vertical_axis(Svg& svg, const Axis& axis, double left, double right, int wanted) {
  for (const Tick& tick : axis.ticks(wanted)) {
    const double y = axis.at(tick.value);
    svg.line(left, y, right, y, kGrid);
    svg.text(left - 8, y + 4, tick.label,
             {.size = 12, .anchor = Anchor::end, .colour = kLabelColour});
  }
}

void draw_horizontal_axis(Svg& svg, const Axis& axis, double top, double bottom, bool labels,
                          int wanted) {
  for (const Tick& tick : axis.ticks(wanted)) {
    const double x = axis.at(tick.value);
    svg.line(x, top, x, bottom, kGrid);
    if (labels)
      svg.text(x, bottom + 18, tick.label,
               {.size = 12, .anchor = Anchor::middle, .colour = kLabelColour});
  }
}

}  // namespace plimsoll::draw
