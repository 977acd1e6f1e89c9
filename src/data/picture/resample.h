// Separable resizing of bytes: which input pixels make an output pixel, and the arithmetic of the
// two passes.
#pragma once

#include <cstdint>
#include <span>

#include "data/picture/room.h"
#include "data/picture/transform.h"

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
  static constexpr int kBits = 14;

  std::int64_t out = 0;
  std::int64_t count = 0;  // even
  std::span<std::int32_t> first;
  std::span<std::int16_t> weights;  // [out][count]

  // The table for one axis, in `room`.
  static Taps make(const Stretch& in, std::int64_t out, Interpolation how, Room& room);
  // What make() takes at most where up to `size` pixels become `out`.
  static std::int64_t bytes(std::int64_t size, std::int64_t out, Interpolation how);
  // How many weights a position has at most, where `size` pixels become `out`.
  static std::int64_t most(std::int64_t size, std::int64_t out, Interpolation how);

  const std::int16_t* weights_of(std::int64_t i) const { return weights.data() + i * count; }
  // The output runs backwards.
  void mirror_output();
  // The input, of `limit` pixels, is given backwards.
  void mirror_input(std::int64_t limit);
};

// The two passes of a resize. A value between them is in units of 1/64 level.

// line[i] = sum over taps of weights[t] * sources[t][i], for `bytes` values of bytes.
void blend_rows(std::span<const std::uint8_t* const> sources, const std::int16_t* weights,
                std::int64_t bytes, std::int16_t* line);
// What a line has behind its end, for loads of whole vectors.
inline constexpr std::int64_t kLineSlack = 16;
// A row of `channels` (1 or 3) from a blended line.
void blend_columns(const std::int16_t* line, const Taps& taps, int channels, std::uint8_t* out);

// The same two for images that are stored turned: a stored row is a column of the upright image.
// Along it, `column[i * channels + c]` for the positions of `taps`; `step` is 1, or -1 for a row
// whose first pixel is the last of the column, which `row` then points to.
void blend_along(const std::uint8_t* row, std::int64_t step, std::int64_t limit, const Taps& taps,
                 int channels, std::int16_t* column);
// A column of the output, `stride` bytes from row to row, from blended columns.
void blend_across(std::span<const std::int16_t* const> columns, const std::int16_t* weights,
                  std::int64_t height, int channels, std::uint8_t* out, std::int64_t stride);

}  // namespace plimsoll
