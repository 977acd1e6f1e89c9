// The sum over all elements of |x - target|.
#include <cmath>

#include "ops/window.h"

namespace plimsoll::ops {
namespace {

Specs infer(const Attrs&, std::span<const Spec> in) {
  check_against_targets(in, "the outputs");
  return {plain({1}, DType::f64)};
}

void sum(const Attrs&, const Args& args) noexcept {
  const TensorView &outputs = args.in[0], &targets = args.in[1];
  double total = 0;
  for_real(outputs.spec.dtype, [&]<class T>(T) {
    for (std::int64_t n = 0; n < outputs.spec.shape[0]; ++n)
      for (std::int64_t k = 0; k < outputs.spec.shape[1]; ++k)
        total += std::fabs(static_cast<double>(outputs.image<T>(n)[k]) -
                           static_cast<double>(targets.image<T>(n)[k]));
  });
  args.out[0].at<double>(0) = total;
}

}  // namespace

extern const OpFamily absolute_error;
const OpFamily absolute_error{{
    {.name = "absolute_error",
     .doc = "The sum of absolute differences to a target.",
     .infer = infer,
     .cost = pass_over<2>,
     .kernels = {{"ref", plain_job<sum>, kAnyReal}},
     .samples = {{.in = {{plain({5, 7})}, {plain({5, 7})}}},
                 {.in = {{plain({3, 1})}, {plain({3, 1})}}}}},
}};

}  // namespace plimsoll::ops
