#include "kernels/transpose.h"

#include "kernels/simd/vec.h"

namespace plimsoll::kernels::PLIMSOLL_VARIANT {

void transpose_blocks(const BlockMatrix& blocks, const float* from, float* to) noexcept {
  constexpr std::int64_t kSize = kLanes * kLanes;
#pragma omp parallel for collapse(2)
  for (std::int64_t a = 0; a < blocks.outer; ++a)
    for (std::int64_t b = 0; b < blocks.inner; ++b)
      transpose_block(from + kSize * (a * blocks.inner + b), kLanes,
                      to + kSize * blocks.place(a, b), kLanes);
}

}  // namespace plimsoll::kernels::PLIMSOLL_VARIANT
