// A moving average of a weight: average = average * decay + w * (1 - decay), unless the step was
// bad.
#include "ops/update.h"

namespace plimsoll::ops {
namespace {

// [average, w, norm]
Specs infer(const Attrs& attrs, std::span<const Spec> in) {
  check_count(in, 3, 3);
  check_same(in[1], in[0], "the weight");
  check_vector(in[2], 1, "the norm");
  const double decay = attrs.real("decay");
  if (!(decay >= 0 && decay < 1))
    refuse("decay is " + std::to_string(decay), "0 up to, not including, 1 is needed");
  return {in[0]};
}

void update(const Attrs& attrs, const Args& args) noexcept {
  if (!std::isfinite(args.in[2].at<double>(0))) return;
  for_real(args.in[0].spec.dtype, [&]<class T>(T) {
    const auto take = static_cast<T>(1 - attrs.real("decay"));
    const T* w = args.in[1].as<T>();
    T* average = args.out[0].as<T>();
    over_elements(args.in[0].spec,
                  [=](std::int64_t i) { average[i] += (w[i] - average[i]) * take; });
  });
}

}  // namespace

extern const OpFamily moving_average;
const OpFamily moving_average{{
    {.name = "moving_average",
     .doc = "Moves an average towards a weight; a step whose norm is not finite moves nothing.",
     .attrs = {{"decay", 0.999, "share of the old average that stays"}},
     .infer = infer,
     .in_place = {{.out = 0, .over = 0, .required = true}},
     .cost = pass_over<3>,
     .kernels = {{"loop", plain_job<update>, kAnyReal}},
     .samples = {{.in = {{plain({33, 7})},
                         {plain({33, 7})},
                         {plain({1}, DType::f64), SampleInput::Fill::positive}}}}},
}};

}  // namespace plimsoll::ops
