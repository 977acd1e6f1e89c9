// How far the deltas of boxes that were found are from what they should be, in the four columns of
// each one's class alone, with the gradient from the same pass.
#include "ops/detection.h"
#include "ops/distance.h"

namespace plimsoll::ops {
namespace {

Specs infer(const Attrs& attrs, std::span<const Spec> in) {
  check_count(in, 4, 4);
  check_matrix(in[0], "the deltas");
  check_real(in[0], "the deltas");
  const std::int64_t rows = in[0].shape[0];
  if (in[0].shape[1] % 4 != 0)
    refuse("the deltas are " + to_string(in[0]), "four columns for each class are needed");
  check_same(in[1], plain({rows}, DType::i32), "the labels");
  check_same(in[2], plain({rows, 4}, in[0].dtype), "the targets");
  check_same(in[3], plain({rows}, in[0].dtype), "the weights");
  if (!(attrs.real("beta") > 0))
    refuse("beta " + std::to_string(attrs.real("beta")), "more than 0 is needed");
  return {plain({1}, in[0].dtype), in[0]};
}

// A label that cannot be makes the loss NaN: the step is then refused.
void rows(const Attrs& attrs, const Args& args) noexcept {
  const TensorView &deltas = args.in[0], &gradient = args.out[1];
  const std::int64_t count = deltas.spec.shape[0], width = deltas.spec.shape[1];
  const double beta = attrs.real("beta");
  for_real(deltas.spec.dtype, [&]<class T>(T) {
    double total = 0;
    for (std::int64_t r = 0; r < count; ++r) {
      const std::int64_t label = args.in[1].at<std::int32_t>(r);
      const double weight = static_cast<double>(args.in[3].at<T>(r)) / static_cast<double>(count);
      const bool counts = label > 0 && 4 * label < width;
      if (label < 0 || 4 * label >= width) total = std::nan("");
      T slope[4] = {};
      for (std::int64_t j = 0; counts && j < 4; ++j) {
        const T miss = deltas.image<T>(r)[4 * label + j] - args.in[2].image<T>(r)[j];
        const Distance off = distance(static_cast<double>(miss), beta);
        total += weight * off.loss;
        slope[j] = static_cast<T>(weight * off.slope);
      }
      T* row = gradient.image<T>(r);
      for (std::int64_t i = 0; i < width; ++i) row[i] = 0;
      for (std::int64_t j = 0; counts && j < 4; ++j) row[4 * label + j] = slope[j];
    }
    args.out[0].at<T>(0) = static_cast<T>(total);
  });
}

Sample sample(std::int64_t rows, std::int64_t classes) {
  return {.in = {{plain({rows, 4 * classes})},
                 {plain({rows}, DType::i32), SampleInput::Fill::label, classes},
                 {plain({rows, 4})},
                 {plain({rows}), SampleInput::Fill::positive}}};
}

}  // namespace

extern const OpFamily roi_box_loss;
const OpFamily roi_box_loss{{
    {.name = "roi_box_loss",
     .doc =
         "Mean over rows of weight times the smooth L1 distance of the deltas of the row's label "
         "from their targets; label 0 has none. The second output is its gradient by the "
         "deltas. in: deltas, labels, targets, weights.",
     .attrs = {{"beta", 1.0 / 9, "below it the distance is a parabola"}},
     .infer = infer,
     .backward = scaled_gradient,
     .in_place = {{.out = 1, .over = 0}},
     .cost = pass_over<2>,
     .kernels = {{"f64-sums", plain_job<rows>, kAnyReal}},
     .samples = {sample(7, 5), sample(12, 2)}},
}};

}  // namespace plimsoll::ops
