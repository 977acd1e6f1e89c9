// Transposes of weights.
#pragma once

#include <cstdint>

namespace plimsoll::kernels {

// An outer x inner matrix of row-major blocks of lanes x lanes. With `swaps` the blocks change
// places too, and what comes of it is inner x outer.
struct BlockMatrix {
  std::int64_t outer = 1;
  std::int64_t inner = 1;
  bool swaps = false;

  // Where block (a, b) comes to lie.
  std::int64_t place(std::int64_t a, std::int64_t b) const {
    return swaps ? b * outer + a : a * inner + b;
  }
};

// Each block transposed: weights 8i8o become 8o8i. Buffers do not overlap.
void transpose_blocks(std::int64_t lanes, const BlockMatrix& blocks, const float* from,
                      float* to) noexcept;

}  // namespace plimsoll::kernels
