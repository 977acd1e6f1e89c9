// How many labels of samples that may have several are told right, and how many samples have all.
#include "ops/window.h"

namespace plimsoll::ops {
namespace {

Specs infer(const Attrs&, std::span<const Spec> in) {
  check_against_targets(in, "the logits");
  return {plain({2}, DType::i64)};
}

// A label is told to be there where its logit is positive: its probability is above a half.
void count(const Attrs&, const Args& args) noexcept {
  const TensorView &logits = args.in[0], &targets = args.in[1];
  std::int64_t labels = 0;
  std::int64_t samples = 0;
  for_real(logits.spec.dtype, [&]<class T>(T) {
    for (std::int64_t n = 0; n < logits.spec.shape[0]; ++n) {
      std::int64_t right = 0;
      for (std::int64_t k = 0; k < logits.spec.shape[1]; ++k)
        right += (logits.image<T>(n)[k] > 0) == (targets.image<T>(n)[k] > T{0.5});
      labels += right;
      samples += right == logits.spec.shape[1];
    }
  });
  args.out[0].at<std::int64_t>(0) = labels;
  args.out[0].at<std::int64_t>(1) = samples;
}

}  // namespace

extern const OpFamily binary_accuracy;
const OpFamily binary_accuracy{{
    {.name = "binary_accuracy",
     .doc = "Counts of labels whose logit has the sign of its target, and of rows where all have.",
     .infer = infer,
     .cost = pass_over<1>,
     .kernels = {{"ref", plain_job<count>, kAnyReal}},
     .samples = {{.in = {{plain({5, 7})}, {plain({5, 7}), SampleInput::Fill::unit}}},
                 {.in = {{plain({3, 1})}, {plain({3, 1}), SampleInput::Fill::one}}}}},
}};

}  // namespace plimsoll::ops
