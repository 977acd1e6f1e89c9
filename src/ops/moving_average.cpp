// A moving average of a weight: average = average * decay + w * (1 - decay), unless the step was
// bad.
#include "ops/update.h"

namespace plimsoll::ops {
namespace {

// [average, w, norm]
Specs infer(const Attrs& attrs, std::span<const Spec> in) {
  check_count(in, 3, 3);
  check_same(in[0], follower_spec(attrs, in[1]), "the average");
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
    const UpdatedElements range = updated_elements(attrs, args.in[1].spec);
    const T* w = args.in[1].as<T>() + range.first;
    T* average = args.out[0].as<T>();
    over_elements(range.count, [=](std::int64_t i) { average[i] += (w[i] - average[i]) * take; });
  });
}

std::vector<Sample> samples() {
  const SampleInput tensor{plain({33, 7})};
  const SampleInput norm{plain({1}, DType::f64), SampleInput::Fill::positive};
  return {{.in = {tensor, tensor, norm}},
          {.in = {{plain({90})}, tensor, norm},
           .attrs = {{"first", std::int64_t{48}}, {"count", std::int64_t{90}}}}};
}

}  // namespace

extern const OpFamily moving_average;
const OpFamily moving_average{{
    {.name = "moving_average",
     .doc = "Moves an average towards a weight; a step whose norm is not finite moves nothing.",
     .attrs = with_elements({{"decay", 0.999, "share of the old average that stays"}}),
     .infer = infer,
     .in_place = {{.out = 0, .over = 0, .required = true}},
     .cost = pass_over<3>,
     .kernels = {{"loop", plain_job<update>, kAnyReal}},
     .samples = samples()},
}};

}  // namespace plimsoll::ops
