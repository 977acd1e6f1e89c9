// penalty = factor * sum of squares of weights, Keras's L2 regularizer for many weights at once.
#include "ops/sum_of_squares.h"
#include "ops/window.h"

namespace plimsoll::ops {
namespace {

Specs infer(const Attrs&, std::span<const Spec> in) {
  if (in.empty()) refuse("no inputs", "at least one weight is needed");
  for (const Spec& spec : in) {
    check_real(spec, "a weight");
    if (spec.dtype != in[0].dtype)
      refuse("a weight is " + to_string(spec), "the type of " + to_string(in[0]) + " is needed");
  }
  return {plain({1}, in[0].dtype)};
}

void penalty(const Attrs& attrs, const Args& args) noexcept {
  double total = 0;
  for (const TensorView& weight : args.in) total += sum_of_squares(weight);
  for_real(args.out[0].spec.dtype, [&]<class T>(T) {
    args.out[0].at<T>(0) = static_cast<T>(attrs.real("factor") * total);
  });
}

Values backward(const Backward& b) {
  Values dx = b.none();
  const Attrs attrs{{"factor", 2 * b.node.attrs.real("factor")}};
  for (std::size_t i = 0; i < dx.size(); ++i)
    if (b.wants[i]) dx[i] = b.call1("scale", {b.in(i), b.dy[0]}, attrs);
  return dx;
}

}  // namespace

extern const OpFamily l2;
const OpFamily l2{{
    {.name = "l2",
     .doc = "A number times the sum of squares of all weights given.",
     .attrs = {{"factor", 0.01, "the number"}},
     .infer = infer,
     .backward = backward,
     .cost = pass_over<2>,
     .kernels = {{"f64-sums", plain_job<penalty>, {.slices = false, .f64 = true}}},
     .samples = {{.in = {{plain({33, 7})}, {plain({5})}}},
                 {.in = {{.spec = {.shape = {13, 5, 3, 3}, .layout = Layout::kernel}}},
                  .attrs = {{"factor", 0.5}}}}},
}};

}  // namespace plimsoll::ops
