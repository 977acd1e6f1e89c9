// Mean over the batch of -log softmax(logits)[label], with its gradient from the same pass. Samples
// may have a weight, and a second label with its share of the target (mixup).
#include <cmath>

#include "ops/rules.h"

namespace plimsoll::ops {
namespace {

Specs infer(const Attrs& attrs, std::span<const Spec> in) {
  check_count(in, 2, 5);
  if (in.size() == 4) refuse("4 operands", "a second label comes with its share");
  check_matrix(in[0], "the logits");
  const std::int64_t batch = in[0].shape[0];
  for (std::size_t i = 1; i < in.size(); ++i) {
    const bool is_label = i == 1 || i == 3;
    check_vector(in[i], batch, is_label ? "the labels" : i == 2 ? "the weights" : "the shares");
    if (in[i].dtype != (is_label ? DType::i32 : in[0].dtype))
      refuse("operand " + std::to_string(i) + " is " + to_string(in[i]),
             is_label ? "i32 is needed" : "the type of the logits is needed");
  }
  const double smoothing = attrs.real("smoothing");
  if (!(smoothing >= 0 && smoothing < 1))
    refuse("smoothing is " + std::to_string(smoothing), "0 up to, not including, 1 is needed");
  return {plain({1}, in[0].dtype), in[0]};
}

// A label outside [0, classes) makes the loss NaN: the step is then refused, never silently wrong.
void rows(const Attrs& attrs, const Args& args) noexcept {
  const TensorView &logits = args.in[0], &labels = args.in[1], &gradient = args.out[1];
  const std::int64_t batch = logits.spec.shape[0];
  const std::int64_t classes = logits.spec.shape[1];
  const double smoothing = attrs.real("smoothing");
  for_real(logits.spec.dtype, [&]<class T>(T) {
    double total = 0;
    for (std::int64_t n = 0; n < batch; ++n) {
      const T* x = logits.image<T>(n);
      T* g = gradient.image<T>(n);
      const std::int64_t label = labels.at<std::int32_t>(n);
      const double weight = args.in.size() > 2 ? static_cast<double>(args.in[2].at<T>(n)) : 1.0;
      const bool mixed = args.in.size() > 4;
      const std::int64_t other = mixed ? args.in[3].at<std::int32_t>(n) : label;
      const double share = mixed ? static_cast<double>(args.in[4].at<T>(n)) : 0.0;
      double largest = static_cast<double>(x[0]);
      double sum_x = 0;
      for (std::int64_t k = 0; k < classes; ++k) {
        largest = std::fmax(largest, static_cast<double>(x[k]));
        sum_x += static_cast<double>(x[k]);
      }
      double sum = 0;
      for (std::int64_t k = 0; k < classes; ++k)
        sum += std::exp(static_cast<double>(x[k]) - largest);
      const double log_sum = largest + std::log(sum);
      const auto logit = [&](std::int64_t k) {
        return k >= 0 && k < classes ? static_cast<double>(x[k]) : std::nan("");
      };
      const double at_label = (1 - share) * logit(label) + share * logit(other);
      const double spread = smoothing / static_cast<double>(classes);
      total += weight * (log_sum - (1 - smoothing) * at_label - spread * sum_x);
      for (std::int64_t k = 0; k < classes; ++k) {
        const double hit = (k == label ? 1 - share : 0.0) + (k == other ? share : 0.0);
        const double target = spread + (1 - smoothing) * hit;
        const double p = std::exp(static_cast<double>(x[k]) - log_sum);
        g[k] = static_cast<T>(weight * (p - target) / static_cast<double>(batch));
      }
    }
    args.out[0].at<T>(0) = static_cast<T>(total / static_cast<double>(batch));
  });
}

Values backward(const Backward& b) {
  Values dx = b.none();
  if (b.dy[0]) dx[0] = b.call1("scale", {b.out(1), b.dy[0]});
  return dx;
}

}  // namespace

extern const OpFamily softmax_cross_entropy;
const OpFamily softmax_cross_entropy{{
    {.name = "softmax_cross_entropy",
     .doc = "Mean of -log softmax(logits)[label]; the second output is its gradient by the logits. "
            "in: logits, label, [weight], [second label, its share].",
     .attrs = {{"smoothing", 0.0, "share of the target spread evenly over all classes"}},
     .infer = infer,
     .backward = backward,
     .in_place = {{.out = 1, .over = 0}},
     .cost = pass_over<8>,
     .kernels = {{"f64-sums", plain_job<rows>, kAnyReal}},
     .samples = {{.in = {{plain({5, 10})}, {plain({5}, DType::i32), SampleInput::Fill::label, 10}}},
                 {.in = {{plain({3, 33})}, {plain({3}, DType::i32), SampleInput::Fill::label, 33}},
                  .attrs = {{"smoothing", 0.1}}},
                 {.in = {{plain({4, 9})},
                         {plain({4}, DType::i32), SampleInput::Fill::label, 9},
                         {plain({4}), SampleInput::Fill::positive},
                         {plain({4}, DType::i32), SampleInput::Fill::label, 9},
                         {plain({4}), SampleInput::Fill::unit}},
                  .attrs = {{"smoothing", 0.1}}}}},
}};

}  // namespace plimsoll::ops
