// The one check of a step: the norm of all gradients, not finite if anything in it or the loss is
// not.
#include <cmath>

#include "ops/sum_of_squares.h"
#include "ops/window.h"

namespace plimsoll::ops {
namespace {

Specs infer(const Attrs&, std::span<const Spec> in) {
  if (in.empty()) refuse("no inputs", "the loss, then the gradients are needed");
  check_vector(in[0], 1, "the loss");
  for (const Spec& spec : in) check_real(spec, "a gradient");
  return {plain({1}, DType::f64)};
}

void norm(const Attrs&, const Args& args) noexcept {
  double total = 0;
  for_real(args.in[0].spec.dtype, [&]<class T>(T) {
    const auto loss = static_cast<double>(args.in[0].at<T>(0));
    total = std::isfinite(loss) ? 0 : std::nan("");
  });
  for (std::size_t i = 1; i < args.in.size(); ++i) total += sum_of_squares(args.in[i]);
  args.out[0].at<double>(0) = std::sqrt(total);
}

}  // namespace

extern const OpFamily global_norm;
const OpFamily global_norm{{
    {.name = "global_norm",
     .doc =
         "L2 norm of all gradients; not finite if a gradient or the loss, the first input, is not.",
     .infer = infer,
     .cost = pass_over<2>,
     .kernels = {{"f64-sums", plain_job<norm>, {.slices = false, .f64 = true}}},
     .samples = {{.in = {{plain({1})}, {plain({33, 7})}, {blocked(1, 13, 3, 3)}}}}},
}};

}  // namespace plimsoll::ops
