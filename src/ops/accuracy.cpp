// How many samples have their label first, and among the first five.
#include "ops/rules.h"

namespace plimsoll::ops {
namespace {

Specs infer(const Attrs&, std::span<const Spec> in) {
  check_count(in, 2, 2);
  check_matrix(in[0], "the logits");
  check_vector(in[1], in[0].shape[0], "the labels");
  if (in[1].dtype != DType::i32) refuse("labels are " + to_string(in[1]), "i32 is needed");
  return {plain({2}, DType::i64)};
}

// The rank of a label is the number of classes that score higher; equals of a lower index count
// too.
void count(const Attrs&, const Args& args) noexcept {
  const TensorView &logits = args.in[0], &labels = args.in[1];
  std::int64_t first = 0;
  std::int64_t first_five = 0;
  for_real(logits.spec.dtype, [&]<class T>(T) {
    const std::int64_t classes = logits.spec.shape[1];
    for (std::int64_t n = 0; n < logits.spec.shape[0]; ++n) {
      const T* x = logits.image<T>(n);
      const std::int64_t label = labels.at<std::int32_t>(n);
      if (label < 0 || label >= classes) continue;
      std::int64_t rank = 0;
      for (std::int64_t k = 0; k < classes; ++k)
        if (x[k] > x[label] || (x[k] == x[label] && k < label)) ++rank;
      first += rank < 1;
      first_five += rank < 5;
    }
  });
  args.out[0].at<std::int64_t>(0) = first;
  args.out[0].at<std::int64_t>(1) = first_five;
}

}  // namespace

extern const OpFamily accuracy;
const OpFamily accuracy{{
    {.name = "accuracy",
     .doc = "Counts of samples whose label scores highest, and among the five highest.",
     .infer = infer,
     .cost = pass_over<1>,
     .kernels = {{"ref", plain_job<count>, kAnyReal}},
     .samples = {{.in = {{plain({67, 10})},
                         {plain({67}, DType::i32), SampleInput::Fill::label, 10}}}}},
}};

}  // namespace plimsoll::ops
