// Mean over all elements of (x - target)^2, with its gradient from the same pass.
#include "kernels/runs.h"
#include "ops/window.h"

namespace plimsoll::ops {
namespace {

Specs infer(const Attrs&, std::span<const Spec> in) {
  check_count(in, 2, 2);
  check_real(in[0]);
  check_same(in[1], in[0], "the target");
  return {plain({1}, in[0].dtype), in[0]};
}

// Padding lanes are zero in both operands: they add nothing and their gradient is zero.
void runs_in_order(const Attrs&, const Args& args) noexcept {
  const TensorView &x = args.in[0], &target = args.in[1], &gradient = args.out[1];
  const kernels::Runs runs(x.spec);
  const auto count = static_cast<double>(x.spec.shape.elements());
  for_real(x.spec.dtype, [&]<class T>(T) {
    double total = 0;
    for (std::int64_t r = 0; r < runs.count; ++r) {
      const T *from = runs.of<T>(x, r), *wanted = runs.of<T>(target, r);
      T* to = runs.of<T>(gradient, r);
      for (std::int64_t i = 0; i < runs.length_of(r); ++i) {
        const double miss = static_cast<double>(from[i]) - static_cast<double>(wanted[i]);
        total += miss * miss;
        to[i] = static_cast<T>(2 * miss / count);
      }
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

extern const OpFamily mean_squared_error;
const OpFamily mean_squared_error{{
    {.name = "mean_squared_error",
     .doc = "Mean squared difference to a target; the second output is its gradient by the first "
            "input.",
     .infer = infer,
     .backward = backward,
     .in_place = {{.out = 1, .over = 0}},
     .cost = pass_over<4>,
     .kernels = {{"f64-sums", plain_job<runs_in_order>, kAnyReal}},
     .samples = {{.in = {{plain({5, 7})}, {plain({5, 7})}}},
                 {.in = {{blocked(2, 3, 5, 4)}, {blocked(2, 3, 5, 4)}}}}},
}};

}  // namespace plimsoll::ops
