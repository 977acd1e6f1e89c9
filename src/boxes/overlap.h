// Intersection over union, for the loops of this folder: one rule, so that every pass over the same
// boxes finds the same bits.
#pragma once

#include "boxes/box.h"

namespace plimsoll::boxes {

template <class T>
constexpr T smaller(T a, T b) {
  return b < a ? b : a;
}
template <class T>
constexpr T larger(T a, T b) {
  return a < b ? b : a;
}

template <class T>
constexpr T area_of(const Box<T>& box) {
  return (box.x1 - box.x0) * (box.y1 - box.y0);
}

// Of boxes whose areas are known.
template <class T>
constexpr T overlap(const Box<T>& a, T area_a, const Box<T>& b, T area_b) {
  const T width = larger(smaller(a.x1, b.x1) - larger(a.x0, b.x0), T(0));
  const T height = larger(smaller(a.y1, b.y1) - larger(a.y0, b.y0), T(0));
  const T shared = width * height;
  return shared > 0 ? shared / (area_a + area_b - shared) : T(0);
}

}  // namespace plimsoll::boxes
