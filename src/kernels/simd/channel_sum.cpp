#include "kernels/channel_sum.h"

#include "kernels/simd/plane_sum.h"

namespace plimsoll::kernels {
namespace {

void sum_images(const TensorView& x, float* sums) {
  const Shape& shape = x.spec.shape;
#pragma omp parallel for
  for (std::int64_t block = 0; block < blocks_of(shape[1]); ++block) {
    PlaneSum sum;
    for (std::int64_t n = 0; n < shape[0]; ++n)
      sum.add_plane(plane<float>(x, n, block), shape[2] * shape[3]);
    _mm256_maskstore_ps(sums + block * kLanes, channel_lanes(shape[1], block), sum.scaled(1));
  }
}

void sum_rows(const TensorView& x, float* sums) {
  const Shape& shape = x.spec.shape;
#pragma omp parallel for
  for (std::int64_t block = 0; block < blocks_of(shape[1]); ++block) {
    const __m256i lanes = channel_lanes(shape[1], block);
    PlaneSum sum;
    for (std::int64_t n = 0; n < shape[0]; ++n)
      sum.add(_mm256_maskload_ps(x.image<float>(n) + block * kLanes, lanes));
    _mm256_maskstore_ps(sums + block * kLanes, lanes, sum.scaled(1));
  }
}

}  // namespace

void channel_sum(const Attrs&, const Args& args) noexcept {
  const TensorView& x = args.in[0];
  if (x.spec.layout == Layout::blocked)
    sum_images(x, args.out[0].as<float>());
  else
    sum_rows(x, args.out[0].as<float>());
}

}  // namespace plimsoll::kernels
