// Separable resizing of bytes: which input pixels make an output pixel, and the two passes.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "data/picture.h"
#include "data/transform.h"

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
// stretch; first + count may reach past it where weights are 0.
struct Taps {
  static constexpr int kBits = 14;

  std::int64_t out = 0;
  std::int64_t count = 0;  // even
  std::vector<std::int32_t> first;
  std::vector<std::int16_t> weights;  // [out][count]

  // Makes the table for one axis, its memory used again. `mirrored`: the output runs backwards.
  void make(const Stretch& in, std::int64_t out_size, Interpolation how, bool mirrored);

  // How many weights a position has at most, where `size` pixels become `out`.
  static std::int64_t most(std::int64_t size, std::int64_t out, Interpolation how);

 private:
  std::vector<double> exact_;
};

// Scratch of resize(), used again.
struct ResizeScratch {
  Taps columns;
  Taps rows;
  std::vector<std::int16_t> line;  // a blend of rows, in units of 1/64 level
  std::vector<const std::uint8_t*> sources;
};

// Brings a part of a picture to `out`, mirrored as asked. Does not check its arguments.
void resize(const Picture& picture, const Stretch& columns, const Stretch& rows, Size out,
            Interpolation how, bool mirror_x, bool mirror_y, ResizeScratch& scratch,
            std::uint8_t* hwc);

// The most that the scratch grows to for stretches of up to `largest`.
Bytes resize_bytes(Size largest, Size out, int channels, Interpolation how);

}  // namespace plimsoll
