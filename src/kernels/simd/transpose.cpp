#include "kernels/simd/vec.h"

namespace plimsoll::kernels::PLIMSOLL_VARIANT {

void transpose_blocks(std::int64_t count, const float* from, float* to) noexcept {
  constexpr std::int64_t kSize = kLanes * kLanes;
#pragma omp parallel for
  for (std::int64_t i = 0; i < count; ++i)
    transpose_block(from + kSize * i, kLanes, to + kSize * i, kLanes);
}

}  // namespace plimsoll::kernels::PLIMSOLL_VARIANT
