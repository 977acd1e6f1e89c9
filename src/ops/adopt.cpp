// State that was worked out in parts takes its place once the whole step is known to be good.
#include "ops/update.h"

namespace plimsoll::ops {
namespace {

// [old, new, norm]
Specs infer(const Attrs&, std::span<const Spec> in) {
  check_count(in, 3, 3);
  check_same(in[1], in[0], "the new value");
  check_vector(in[2], 1, "the norm");
  return {in[0]};
}

void adopt_ref(const Attrs&, const Args& args) noexcept {
  if (!std::isfinite(args.in[2].at<double>(0))) return;
  for_real(args.in[0].spec.dtype, [&]<class T>(T) {
    const T* from = args.in[1].as<T>();
    T* to = args.out[0].as<T>();
    over_elements(args.in[0].spec, [=](std::int64_t i) { to[i] = from[i]; });
  });
}

}  // namespace

extern const OpFamily adopt;
const OpFamily adopt{{
    {.name = "adopt",
     .doc = "Takes over a new value; a step whose norm is not finite keeps the old one.",
     .infer = infer,
     .in_place = {{.out = 0, .over = 0, .required = true}},
     .cost = pass_over<2>,
     .kernels = {{"loop", plain_job<adopt_ref>, kAnyReal}},
     .samples = {{.in = {{plain({13})},
                         {plain({13})},
                         {plain({1}, DType::f64), SampleInput::Fill::positive}}}}},
}};

}  // namespace plimsoll::ops
