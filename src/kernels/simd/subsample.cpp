#include "kernels/subsample.h"

#include <algorithm>

#include "kernels/simd/vec8.h"
#include "tensor/spec.h"

namespace plimsoll::kernels {

void subsample(const Grid& grid, const float* all, float* few) noexcept {
  const std::int64_t seen_h = grid.seen_h(), seen_w = grid.seen_w();
#pragma omp parallel for collapse(2)
  for (std::int64_t p = 0; p < grid.planes; ++p)
    for (std::int64_t h = 0; h < seen_h; ++h) {
      const float* from = all + (p * grid.height + h * grid.stride_h) * grid.width * kLanes;
      float* to = few + (p * seen_h + h) * seen_w * kLanes;
      for (std::int64_t w = 0; w < seen_w; ++w)
        store8(to + w * kLanes, load8(from + w * grid.stride_w * kLanes));
    }
}

void scatter(const Grid& grid, const float* few, float* all) noexcept {
  const std::int64_t seen_h = grid.seen_h(), seen_w = grid.seen_w();
#pragma omp parallel for collapse(2)
  for (std::int64_t p = 0; p < grid.planes; ++p)
    for (std::int64_t h = 0; h < grid.height; ++h) {
      float* to = all + (p * grid.height + h) * grid.width * kLanes;
      std::fill_n(to, grid.width * kLanes, 0.0f);
      if (h % grid.stride_h != 0) continue;
      const float* from = few + (p * seen_h + h / grid.stride_h) * seen_w * kLanes;
      for (std::int64_t w = 0; w < seen_w; ++w)
        store8(to + w * grid.stride_w * kLanes, load8(from + w * kLanes));
    }
}

}  // namespace plimsoll::kernels
