// Class numbers as rows of zeros with a one.
#include "ops/rules.h"

namespace plimsoll::ops {
namespace {

Specs infer(const Attrs& attrs, std::span<const Spec> in) {
  check_count(in, 1, 1);
  if (in[0].shape.rank() != 1 || in[0].dtype != DType::i32)
    refuse("labels are " + to_string(in[0]), "i32 [N] is needed");
  const std::int64_t classes = attrs.integer("classes");
  if (classes < 1 || classes > (1 << 24))
    refuse(std::to_string(classes) + " classes", "1 to 2^24 are needed");
  return {plain({in[0].shape[0], classes})};
}

void ref(const Attrs&, const Args& args) noexcept {
  const TensorView& y = args.out[0];
  for (std::int64_t n = 0; n < y.spec.shape[0]; ++n)
    for (std::int64_t k = 0; k < y.spec.shape[1]; ++k)
      y.at<float>(n, k) = args.in[0].at<std::int32_t>(n) == k ? 1.0F : 0.0F;
}

}  // namespace

extern const OpFamily one_hot;
const OpFamily one_hot{{
    {.name = "one_hot",
     .doc = "Row n is 1 at column label[n] and 0 elsewhere.",
     .attrs = {{"classes", std::int64_t{1}, "columns"}},
     .infer = infer,
     .cheap_to_repeat = true,
     .cost = pass_over<0>,
     .kernels = {{"ref", plain_job<ref>, kAnyReal}},
     .samples = {{.in = {{plain({5}, DType::i32), SampleInput::Fill::label, 7}},
                  .attrs = {{"classes", std::int64_t{7}}}}}},
}};

}  // namespace plimsoll::ops
