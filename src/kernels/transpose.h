// Transposes of weights.
#pragma once

#include <cstdint>

namespace plimsoll::kernels {

// `count` consecutive row-major blocks of lanes x lanes, each transposed: weights 8i8o become 8o8i.
// Buffers do not overlap.
void transpose_blocks(std::int64_t lanes, std::int64_t count, const float* from,
                      float* to) noexcept;

}  // namespace plimsoll::kernels
