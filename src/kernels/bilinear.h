// Pixels between four others, along a line through a picture.
#pragma once

#include <cstdint>

namespace plimsoll::kernels {

// Bits of a neighbour's share.
inline constexpr int kShareBits = 11;

// Where the pixels of one output row come from.
struct Line {
  double x0, y0, dx, dy;

  double x(std::int64_t i) const { return dx * static_cast<double>(i) + x0; }
  double y(std::int64_t i) const { return dy * static_cast<double>(i) + y0; }
};

// Pixels [begin, end) of a row.
struct Run {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

// Pixels `run` of the row `out`, each from the four of `from` around line.x(i), line.y(i), both
// rounded to kShareBits. `from` has `channels` (1 or 3) bytes a pixel and `stride` a row. All four
// lie in the picture; with three channels, eight bytes can be read where the left ones begin.
void blend_four(const std::uint8_t* from, std::int64_t stride, int channels, const Line& line,
                const Run& run, std::uint8_t* out) noexcept;

}  // namespace plimsoll::kernels
