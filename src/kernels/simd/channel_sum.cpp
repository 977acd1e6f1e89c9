#include "kernels/channel_sum.h"

#include "kernels/simd/plane_sum.h"

namespace plimsoll::kernels::PLIMSOLL_VARIANT {
namespace {

template <class T>
void sum_images(const TensorView& x, float* sums) {
  const Shape& shape = x.spec.shape;
#pragma omp parallel for
  for (std::int64_t block = 0; block < blocks_of(shape[1]); ++block) {
    PlaneSum sum;
    for (std::int64_t n = 0; n < shape[0]; ++n)
      sum.add_plane(plane<T>(x, n, block), shape[2] * shape[3]);
    store_part(sums + block * kLanes, sum.scaled(1), shape[1] - block * kLanes);
  }
}

void sum_rows(const TensorView& x, float* sums) {
  const Shape& shape = x.spec.shape;
#pragma omp parallel for
  for (std::int64_t block = 0; block < blocks_of(shape[1]); ++block) {
    const std::int64_t lanes = shape[1] - block * kLanes;
    PlaneSum sum;
    for (std::int64_t n = 0; n < shape[0]; ++n)
      sum.add_cell(load_part(x.image<float>(n) + block * kLanes, lanes));
    store_part(sums + block * kLanes, sum.scaled(1), lanes);
  }
}

}  // namespace

void channel_sum(const Attrs&, const Args& args) noexcept {
  const TensorView& x = args.in[0];
  if (x.spec.layout == Layout::blocked)
    with_element(x, [&]<class T>() { sum_images<T>(x, args.out[0].as<float>()); });
  else
    sum_rows(x, args.out[0].as<float>());
}

}  // namespace plimsoll::kernels::PLIMSOLL_VARIANT
