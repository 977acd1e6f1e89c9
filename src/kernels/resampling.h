// The arithmetic of separable resizing, in its two passes over bytes. A value between them is in
// units of 1/64 level.
#pragma once

#include <cstdint>
#include <span>

namespace plimsoll::kernels {

// Bits after the point of a weight.
inline constexpr int kWeightBits = 14;

// For each of `out` positions along an axis, the first input position and `count` weights.
struct TapTable {
  std::int64_t out = 0;
  std::int64_t count = 0;  // even
  const std::int32_t* first = nullptr;
  const std::int16_t* weights = nullptr;  // [out][count]
};

// line[i] = sum over taps of weights[t] * sources[t][i], for `bytes` values of bytes.
void blend_rows(std::span<const std::uint8_t* const> sources, const std::int16_t* weights,
                std::int64_t bytes, std::int16_t* line) noexcept;
// What a line has behind its end, for loads of whole vectors.
inline constexpr std::int64_t kLineSlack = 16;
// A row of `channels` (1 or 3) from a blended line.
void blend_columns(const std::int16_t* line, const TapTable& taps, int channels,
                   std::uint8_t* out) noexcept;

// The same two for images that are stored turned: a stored row is a column of the upright image.
// Along it, `column[i * channels + c]` for the positions of `taps`; `step` is 1, or -1 for a row
// whose first pixel is the last of the column, which `row` then points to.
void blend_along(const std::uint8_t* row, std::int64_t step, std::int64_t limit,
                 const TapTable& taps, int channels, std::int16_t* column) noexcept;
// A column of the output, `stride` bytes from row to row, from blended columns.
void blend_across(std::span<const std::int16_t* const> columns, const std::int16_t* weights,
                  std::int64_t height, int channels, std::uint8_t* out,
                  std::int64_t stride) noexcept;

}  // namespace plimsoll::kernels
