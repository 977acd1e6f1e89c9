// One axis of a chart: values to pixels, round marks, their labels.
#pragma once

#include <limits>
#include <span>
#include <string>
#include <vector>

#include "draw/svg.h"

namespace plimsoll::draw {

enum class Scale {
  linear,
  whole,        // linear, marks at whole numbers only: epochs, steps
  logarithmic,  // values of 0 and below have no place on it
  bytes,        // marks at powers of two of KiB, MiB, GiB
  share,        // 0 to 1, marked in percent
};

struct Tick {
  double value = 0;
  std::string label;
};

// The values a chart has to show, as far as the scale can show them.
class Extent {
 public:
  explicit Extent(Scale scale) : scale_(scale) {}
  void add(double value);
  void add(std::span<const double> values);
  bool empty() const { return low_ > high_; }
  double low() const { return low_; }
  double high() const { return high_; }

 private:
  Scale scale_;
  double low_ = std::numeric_limits<double>::infinity();
  double high_ = -std::numeric_limits<double>::infinity();
};

class Axis {
 public:
  // Shows at least `low` to `high` between the pixels `from` and `to`, which may run upwards.
  // Any ends will do: equal, exchanged or not finite ones are mended.
  Axis(Scale scale, double low, double high, double from, double to);

  bool has_place(double value) const;
  // Where a value lies; it may be outside of the pixels given. has_place() must hold.
  double at(double value) const;
  double low() const { return low_; }
  double high() const { return high_; }
  // About `wanted` round values between low and high, with labels that tell them apart.
  std::vector<Tick> ticks(int wanted = 6) const;

 private:
  Scale scale_;
  double low_, high_, from_, to_;
};

// Grid lines across [left, right] with their labels, for an axis that runs upwards.
void draw_vertical_axis(Svg& svg, const Axis& axis, double left, double right, int wanted = 6);
// Grid lines across [top, bottom] with their labels below.
void draw_horizontal_axis(Svg& svg, const Axis& axis, double top, double bottom, bool labels,
                          int wanted = 8);

// A number as people write it: "0.032", "1.5e-5", "12500".
std::string number_text(double value);

}  // namespace plimsoll::draw
