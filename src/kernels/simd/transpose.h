// Transposes of weights.
#pragma once

#include <cstdint>

namespace plimsoll::kernels {

// `count` consecutive row-major 8x8 blocks, each transposed: weights 8i8o become 8o8i. Buffers do
// not overlap.
void transpose_blocks(std::int64_t count, const float* from, float* to) noexcept;

}  // namespace plimsoll::kernels
