// Running statistics: moving = moving * momentum + batch * (1 - momentum), unless the step was bad.
#include <cmath>

#include "ops/rules.h"

namespace plimsoll::ops {
namespace {

Specs infer(const Attrs&, std::span<const Spec> in) {
  check_count(in, 5, 5);
  for (std::size_t i = 1; i < 4; ++i) check_same(in[i], in[0], "a statistic");
  check_vector(in[4], 1, "the norm");
  return {in[0], in[1]};
}

void ref(const Attrs& attrs, const Args& args) noexcept {
  if (!std::isfinite(args.in[4].at<double>(0))) return;
  const double momentum = attrs.real("momentum");
  for_real(args.in[0].spec.dtype, [&]<class T>(T) {
    const auto keep = static_cast<T>(momentum);
    const auto take = static_cast<T>(1 - momentum);
    for (std::size_t which : {0U, 1U})
      for (std::int64_t c = 0; c < args.in[0].spec.shape[0]; ++c)
        args.out[which].at<T>(c) =
            args.in[which].at<T>(c) * keep + args.in[which + 2].at<T>(c) * take;
  });
}

}  // namespace

extern const OpFamily bn_update;
const OpFamily bn_update{{
    {.name = "bn_update",
     .doc = "Moves running mean and variance towards the batch's; a step whose norm is not finite "
            "moves "
            "nothing.",
     .attrs = {{"momentum", 0.99, "share of the old value that stays (Keras's meaning)"}},
     .infer = infer,
     .in_place = {{.out = 0, .over = 0, .required = true}, {.out = 1, .over = 1, .required = true}},
     .cost = pass_over<2>,
     .kernels = {{"ref", plain_job<ref>, kAnyReal}},
     .samples = {{.in = {{plain({13})},
                         {plain({13})},
                         {plain({13})},
                         {plain({13})},
                         {plain({1}, DType::f64), SampleInput::Fill::positive}}}}},
}};

}  // namespace plimsoll::ops
