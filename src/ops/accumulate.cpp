// Sums gradients of micro-batches: total += share * g.
#include "ops/update.h"

namespace plimsoll::ops {
namespace {

Specs infer(const Attrs&, std::span<const Spec> in) {
  check_count(in, 3, 3);
  check_same(in[1], in[0], "the gradient");
  check_vector(in[2], 1, "the share");
  return {in[0]};
}

void accumulate_ref(const Attrs&, const Args& args) noexcept {
  for_real(args.in[0].spec.dtype, [&]<class T>(T) {
    const T share = args.in[2].at<T>(0);
    const T* g = args.in[1].as<T>();
    T* total = args.out[0].as<T>();
    over_elements(args.in[0].spec, [=](std::int64_t i) { total[i] += share * g[i]; });
  });
}

std::vector<Sample> samples() {
  const SampleInput tensor{plain({33, 7})};
  return {{.in = {tensor, tensor, {plain({1}), SampleInput::Fill::unit}}}};
}

}  // namespace

extern const OpFamily accumulate;
const OpFamily accumulate{{
    {.name = "accumulate",
     .doc = "Adds a share of a gradient to a running total. in: total, g, share.",
     .infer = infer,
     .in_place = {{.out = 0, .over = 0, .required = true}},
     .cost = pass_over<2>,
     .kernels = {{"loop", plain_job<accumulate_ref>, kAnyReal}},
     .samples = samples()},
}};

}  // namespace plimsoll::ops
