// Separable resizing of bytes: which input pixels make an output pixel.
#pragma once

#include <cstdint>
#include <span>

#include "data/picture/room.h"
#include "data/picture/transform.h"
#include "kernels/resampling.h"

namespace plimsoll {

// A stretch of one axis of a picture, in its pixels. Fractions come from pictures that were decoded
// smaller than they are.
struct Stretch {
  double begin = 0;
  double length = 0;
  std::int64_t limit = 0;  // the picture's size along the axis
};

// For each of `out` positions along an axis, the first input position and `count` weights, in units
// of 2^-14, that sum to 1 (weights beyond what a position needs are 0). Positions are within the
// stretch; first + count may reach past it where weights are 0. First positions do not decrease.
struct Taps {
  static constexpr int kBits = kernels::kWeightBits;

  std::int64_t out = 0;
  std::int64_t count = 0;  // even
  std::span<std::int32_t> first;
  std::span<std::int16_t> weights;  // [out][count]

  // The table for one axis, in `room`.
  static Taps make(const Stretch& in, std::int64_t out, Interpolation how, Room& room);
  // What make() takes at most where up to `scale` pixels become one, and up to `out` come out.
  static std::int64_t bytes(double scale, std::int64_t out, Interpolation how);
  // How many weights a position has at most, where up to `scale` pixels become one.
  static std::int64_t most(double scale, Interpolation how);

  kernels::TapTable table() const { return {out, count, first.data(), weights.data()}; }
  const std::int16_t* weights_of(std::int64_t i) const { return weights.data() + i * count; }
  // The output runs backwards.
  void mirror_output();
  // The input, of `limit` pixels, is given backwards.
  void mirror_input(std::int64_t limit);
};

}  // namespace plimsoll
