// How far a number is from what it should be, and the slope of that.
#pragma once

#include <cmath>

namespace plimsoll::ops {

struct Distance {
  double loss = 0;
  double slope = 0;
};

// |d|; below `beta` a parabola that meets it there, where beta > 0. No slope at 0.
inline Distance distance(double d, double beta) {
  const double size = std::fabs(d);
  if (size < beta) return {0.5 * d * d / beta, d / beta};
  return {size - 0.5 * beta, d > 0 ? 1.0 : d < 0 ? -1.0 : d};
}

}  // namespace plimsoll::ops
