#include "kernels/global_pool.h"

#include "kernels/simd/plane.h"
#include "kernels/simd/plane_sum.h"

namespace plimsoll::kernels {
namespace {

// Block `block` of row n of a pooled tensor; in a plain one the last block may be cut short.
float* pooled_cell(const TensorView& y, std::int64_t n, std::int64_t block) {
  return y.image<float>(n) + block * kLanes;
}

__m256 load_pooled(const TensorView& y, std::int64_t n, std::int64_t block) {
  return _mm256_maskload_ps(pooled_cell(y, n, block), channel_lanes(y.spec.shape[1], block));
}

void store_pooled(const TensorView& y, std::int64_t n, std::int64_t block, __m256 value) {
  const __m256i lanes = channel_lanes(y.spec.shape[1], block);
  if (y.spec.layout == Layout::blocked)
    _mm256_storeu_ps(pooled_cell(y, n, block), _mm256_and_ps(value, _mm256_castsi256_ps(lanes)));
  else
    _mm256_maskstore_ps(pooled_cell(y, n, block), lanes, value);
}

__m256 mean_of(const float* x, std::int64_t cells) {
  PlaneSum sum;
  sum.add_plane(x, cells);
  return sum.scaled(1.0 / static_cast<double>(cells));
}

__m256 maximum_of(const float* x, std::int64_t cells) {
  __m256 best = load_cell(x, 0);
  for (std::int64_t i = 1; i < cells; ++i) {
    const __m256 value = load_cell(x, i);
    best = _mm256_blendv_ps(best, value, _mm256_cmp_ps(value, best, _CMP_GT_OQ));
  }
  return best;
}

void fill_plane(float* dx, std::int64_t cells, __m256 value) {
  for (std::int64_t i = 0; i < cells; ++i) store_cell(dx, i, value);
}

// Each lane of `dy` goes to the first cell that holds the lane's maximum.
void place_maximum(const float* x, __m256 best, __m256 dy, float* dx, std::int64_t cells) {
  __m256 open = _mm256_castsi256_ps(_mm256_set1_epi32(-1));
  for (std::int64_t i = 0; i < cells; ++i) {
    const __m256 hit = _mm256_and_ps(open, _mm256_cmp_ps(load_cell(x, i), best, _CMP_EQ_OQ));
    store_cell(dx, i, _mm256_and_ps(dy, hit));
    open = _mm256_andnot_ps(hit, open);
  }
}

}  // namespace

void global_pool(const Attrs& attrs, const Args& args) noexcept {
  const TensorView &x = args.in[0], &y = args.out[0];
  const Shape& shape = x.spec.shape;
  const std::int64_t cells = shape[2] * shape[3];
  const bool mean = attrs.word("kind") == "avg";
#pragma omp parallel for collapse(2)
  for (std::int64_t n = 0; n < shape[0]; ++n)
    for (std::int64_t block = 0; block < blocks_of(shape[1]); ++block) {
      const float* from = plane<float>(x, n, block);
      store_pooled(y, n, block, mean ? mean_of(from, cells) : maximum_of(from, cells));
    }
}

void global_pool_grad(const Attrs& attrs, const Args& args) noexcept {
  const TensorView &dy = args.in[0], &dx = args.out[0];
  const Shape& shape = dx.spec.shape;
  const std::int64_t cells = shape[2] * shape[3];
  const bool mean = attrs.word("kind") == "avg";
  const __m256 share = _mm256_set1_ps(1.0f / static_cast<float>(cells));
#pragma omp parallel for collapse(2)
  for (std::int64_t n = 0; n < shape[0]; ++n)
    for (std::int64_t block = 0; block < blocks_of(shape[1]); ++block) {
      const __m256 grad = load_pooled(dy, n, block);
      float* to = plane<float>(dx, n, block);
      if (mean)
        fill_plane(to, cells, _mm256_mul_ps(grad, share));
      else
        place_maximum(plane<float>(args.in[1], n, block), load_pooled(args.in[2], n, block), grad,
                      to, cells);
    }
}

}  // namespace plimsoll::kernels
