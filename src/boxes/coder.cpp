#include "boxes/coder.h"

#include <cmath>

#include "boxes/overlap.h"

namespace plimsoll::boxes {
namespace {

template <class T>
struct Centred {
  T x, y, width, height;
};

template <class T>
Centred<T> centred(const Box<T>& box) {
  const T width = box.width();
  const T height = box.height();
  return {box.x0 + T(0.5) * width, box.y0 + T(0.5) * height, width, height};
}

// A NaN stays one: a loss must show it.
template <class T>
T cut(T log_scale) {
  return log_scale > T(kMostLogScale) ? T(kMostLogScale) : log_scale;
}

}  // namespace

template <class T>
Deltas<T> Coder<T>::encode(const Box<T>& anchor, const Box<T>& box) const {
  const Centred<T> a = centred(anchor);
  const Centred<T> g = centred(box);
  return {weights[0] * (g.x - a.x) / a.width, weights[1] * (g.y - a.y) / a.height,
          weights[2] * std::log(g.width / a.width), weights[3] * std::log(g.height / a.height)};
}

template <class T>
Box<T> Coder<T>::decode(const Box<T>& anchor, const Deltas<T>& deltas) const {
  const Centred<T> a = centred(anchor);
  const T x = deltas[0] / weights[0] * a.width + a.x;
  const T y = deltas[1] / weights[1] * a.height + a.y;
  const T half_width = T(0.5) * (std::exp(cut(deltas[2] / weights[2])) * a.width);
  const T half_height = T(0.5) * (std::exp(cut(deltas[3] / weights[3])) * a.height);
  return {x - half_width, y - half_height, x + half_width, y + half_height};
}

template <class T>
Deltas<T> Coder<T>::decode_slope(const Box<T>& anchor, const Deltas<T>& deltas,
                                 const Box<T>& slope) const {
  const Centred<T> a = centred(anchor);
  const auto by_size = [](T log_scale, T side, T by_low, T by_high) {
    if (log_scale > T(kMostLogScale)) return T(0);
    return T(0.5) * std::exp(log_scale) * side * (by_high - by_low);
  };
  return {(slope.x0 + slope.x1) * a.width / weights[0],
          (slope.y0 + slope.y1) * a.height / weights[1],
          by_size(deltas[2] / weights[2], a.width, slope.x0, slope.x1) / weights[2],
          by_size(deltas[3] / weights[3], a.height, slope.y0, slope.y1) / weights[3]};
}

template struct Coder<float>;
template struct Coder<double>;

}  // namespace plimsoll::boxes
