// The points at which RoIAlign reads a level under a box.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include "tensor/attrs.h"

namespace plimsoll::ops {

inline constexpr std::int64_t kMostTaps = 64;  // in one direction

// Where one row (or column) of points reads: two cells and the share of the second.
template <class T>
struct Tap {
  std::int32_t low = -1;  // -1: outside, which counts as 0
  std::int32_t high = -1;
  T share = 0;
};

template <class T>
Tap<T> tap_at(T place, std::int64_t cells) {
  if (!(place >= -1 && place <= static_cast<T>(cells))) return {};
  place = std::max(place, T(0));
  const auto low = static_cast<std::int32_t>(place);
  const auto last = static_cast<std::int32_t>(cells - 1);
  if (low >= last) return {last, last, 0};
  return {low, low + 1, place - static_cast<T>(low)};
}

// The points of one box, rows first.
template <class T>
struct Points {
  std::int64_t level = 0;
  std::span<Tap<T>> rows, columns;
};

class RoiGrid {
 public:
  explicit RoiGrid(const Attrs& attrs)
      : size(attrs.integer("size")),
        samples(attrs.integer("samples")),
        first_(attrs.integer("first_level")) {}

  std::int64_t taps() const { return size * samples; }

  // floor(4 + log2(side / 224)) of torchvision, kept within the levels there are.
  template <class T>
  std::int64_t level_of(const T* roi, std::int64_t levels) const {
    const T side = std::sqrt((roi[2] - roi[0]) * (roi[3] - roi[1]));
    const T level = std::floor(T(4) + std::log2(side / T(224)) + T(1e-6));
    const auto last = static_cast<T>(first_ + levels - 1);
    if (!(level > static_cast<T>(first_))) return 0;  // nor NaN
    return static_cast<std::int64_t>(std::min(level, last)) - first_;
  }

  template <class T>
  void fill(const T* roi, std::int64_t rows, std::int64_t columns, const Points<T>& points) const {
    const T scale = std::ldexp(T(1), -static_cast<int>(first_ + points.level));
    const auto axis = [&](T from, T to, std::int64_t cells, std::span<Tap<T>> taps) {
      const T bin = std::max((to - from) * scale, T(1)) / static_cast<T>(size);
      for (std::int64_t p = 0; p < size; ++p)
        for (std::int64_t i = 0; i < samples; ++i)
          taps[static_cast<std::size_t>(p * samples + i)] =
              tap_at(from * scale + static_cast<T>(p) * bin +
                         (static_cast<T>(i) + T(0.5)) * bin / static_cast<T>(samples),
                     cells);
    };
    axis(roi[1], roi[3], rows, points.rows);
    axis(roi[0], roi[2], columns, points.columns);
  }

  // body(cell, weight) for the four cells around a point, those that count.
  template <class T, class Body>
  static void around(const Tap<T>& y, const Tap<T>& x, std::int64_t columns, Body body) {
    if (y.low < 0 || x.low < 0) return;
    body(y.low * columns + x.low, (1 - y.share) * (1 - x.share));
    body(y.low * columns + x.high, (1 - y.share) * x.share);
    body(y.high * columns + x.low, y.share * (1 - x.share));
    body(y.high * columns + x.high, y.share * x.share);
  }

  // body(row tap, column tap) for the points of a bin, in order.
  template <class T, class Body>
  void over_points(const Points<T>& points, std::int64_t bin, Body body) const {
    for (std::int64_t i = 0; i < samples * samples; ++i)
      body(points.rows[static_cast<std::size_t>(bin / size * samples + i / samples)],
           points.columns[static_cast<std::size_t>(bin % size * samples + i % samples)]);
  }

  std::int64_t size, samples;

 private:
  std::int64_t first_;
};

}  // namespace plimsoll::ops
