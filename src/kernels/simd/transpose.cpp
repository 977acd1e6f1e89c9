#include "kernels/simd/transpose.h"

#include "kernels/simd/vec8.h"

namespace plimsoll::kernels {

void transpose_blocks(std::int64_t count, const float* from, float* to) noexcept {
#pragma omp parallel for
  for (std::int64_t i = 0; i < count; ++i) transpose_8x8(from + 64 * i, 8, to + 64 * i, 8);
}

}  // namespace plimsoll::kernels
