// s[c] = sum of x over images and cells: the gradient of a bias.
#include "kernels/channel_sum.h"

#include "ops/rules.h"

namespace plimsoll::ops {
namespace {

Specs infer(const Attrs&, std::span<const Spec> in) {
  check_count(in, 1, 1);
  if (in[0].shape.rank() != 2) check_image(in[0]);
  if (in[0].shape.rank() == 2) check_matrix(in[0]);
  return {plain({in[0].shape[1]}, widened(in[0].dtype))};
}

void ref(const Attrs&, const Args& args) noexcept {
  const TensorView &x = args.in[0], &sums = args.out[0];
  const Shape& shape = x.spec.shape;
  const std::int64_t height = shape.rank() == 4 ? shape[2] : 1,
                     width = shape.rank() == 4 ? shape[3] : 1;
  for_real(x.spec.dtype, [&]<class T>(T) {
    for (std::int64_t c = 0; c < shape[1]; ++c) {
      double sum = 0;
      for (std::int64_t n = 0; n < shape[0]; ++n)
        for (std::int64_t h = 0; h < height; ++h)
          for (std::int64_t w = 0; w < width; ++w) sum += static_cast<double>(x.at<T>(n, c, h, w));
      sums.at<T>(c) = static_cast<T>(sum);
    }
  });
}

}  // namespace

extern const OpFamily channel_sum;
const OpFamily channel_sum{{
    {.name = "channel_sum",
     .doc = "Sums over images and cells, one per channel.",
     .infer = infer,
     .cost = pass_over<1>,
     .kernels = {{"simd", plain_job<kernels::channel_sum>, kShort},
                 {"ref", plain_job<ref>, kAnyReal}},
     .samples = {{.in = {{blocked(3, 10, 5, 7)}}},
                 {.in = {{blocked(2, 33, 13, 11)}}},
                 {.in = {{plain({3, 13})}}},
                 {.in = {{plain({5, 1000})}}}}},
}};

}  // namespace plimsoll::ops
