#include "kernels/subsample.h"

#include <algorithm>

#include "kernels/simd/vec.h"
#include "tensor/spec.h"

namespace plimsoll::kernels::PLIMSOLL_VARIANT {
namespace {

template <class T>
void take(const Grid& grid, const T* all, float* few) {
  const std::int64_t seen_h = grid.seen_h(), seen_w = grid.seen_w();
#pragma omp parallel for collapse(2)
  for (std::int64_t p = 0; p < grid.planes; ++p)
    for (std::int64_t h = 0; h < seen_h; ++h) {
      const T* from = all + (p * grid.height + h * grid.stride_h) * grid.width * kLanes;
      float* to = few + (p * seen_h + h) * seen_w * kLanes;
      for (std::int64_t w = 0; w < seen_w; ++w)
        store(to + w * kLanes, load(from + w * grid.stride_w * kLanes));
    }
}

template <class T>
void put_back(const Grid& grid, const float* few, T* all) {
  const std::int64_t seen_h = grid.seen_h(), seen_w = grid.seen_w();
#pragma omp parallel for collapse(2)
  for (std::int64_t p = 0; p < grid.planes; ++p)
    for (std::int64_t h = 0; h < grid.height; ++h) {
      T* to = all + (p * grid.height + h) * grid.width * kLanes;
      std::fill_n(to, grid.width * kLanes, T(0.0F));
      if (h % grid.stride_h != 0) continue;
      const float* from = few + (p * seen_h + h / grid.stride_h) * seen_w * kLanes;
      for (std::int64_t w = 0; w < seen_w; ++w)
        store(to + w * grid.stride_w * kLanes, load(from + w * kLanes));
    }
}

}  // namespace

void subsample_floats(const Grid& grid, const float* all, float* few) noexcept {
  take(grid, all, few);
}
void subsample_shorts(const Grid& grid, const Bf16* all, float* few) noexcept {
  take(grid, all, few);
}
void scatter_floats(const Grid& grid, const float* few, float* all) noexcept {
  put_back(grid, few, all);
}
void scatter_shorts(const Grid& grid, const float* few, Bf16* all) noexcept {
  put_back(grid, few, all);
}

}  // namespace plimsoll::kernels::PLIMSOLL_VARIANT
