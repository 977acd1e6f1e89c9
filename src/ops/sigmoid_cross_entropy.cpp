// Mean over all elements of -t log s(x) - (1 - t) log(1 - s(x)), s the logistic curve, with its
// gradient from the same pass: Keras's binary_crossentropy from logits.
#include <cmath>

#include "ops/window.h"

namespace plimsoll::ops {
namespace {

Specs infer(const Attrs&, std::span<const Spec> in) {
  check_against_targets(in, "the logits");
  return {plain({1}, in[0].dtype), in[0]};
}

// Only exp of what is not positive is taken, so nothing overflows.
void rows(const Attrs&, const Args& args) noexcept {
  const TensorView &logits = args.in[0], &targets = args.in[1], &gradient = args.out[1];
  const auto count = static_cast<double>(logits.spec.shape.elements());
  for_real(logits.spec.dtype, [&]<class T>(T) {
    double total = 0;
    for (std::int64_t n = 0; n < logits.spec.shape[0]; ++n)
      for (std::int64_t k = 0; k < logits.spec.shape[1]; ++k) {
        const auto x = static_cast<double>(logits.image<T>(n)[k]);
        const auto t = static_cast<double>(targets.image<T>(n)[k]);
        const double small = std::exp(-std::fabs(x));
        total += (x > 0 ? x : 0.0) - x * t + std::log1p(small);
        const double share = (x > 0 ? 1.0 : small) / (1 + small);
        gradient.image<T>(n)[k] = static_cast<T>((share - t) / count);
      }
    args.out[0].at<T>(0) = static_cast<T>(total / count);
  });
}

Values backward(const Backward& b) {
  Values dx = b.none();
  if (b.dy[0]) dx[0] = b.call1("scale", {b.out(1), b.dy[0]});
  return dx;
}

}  // namespace

extern const OpFamily sigmoid_cross_entropy;
const OpFamily sigmoid_cross_entropy{{
    {.name = "sigmoid_cross_entropy",
     .doc = "Mean binary cross entropy of logits; the second output is its gradient by the logits.",
     .infer = infer,
     .backward = backward,
     .in_place = {{.out = 1, .over = 0}},
     .cost = pass_over<12>,
     .kernels = {{"f64-sums", plain_job<rows>, kAnyReal}},
     .samples = {{.in = {{plain({5, 7})}, {plain({5, 7}), SampleInput::Fill::unit}}},
                 {.in = {{plain({3, 1})}, {plain({3, 1}), SampleInput::Fill::one}}}}},
}};

}  // namespace plimsoll::ops
