// Weights of which every rank of a run has updated its shard. The others' come behind this node;
// alone there is nothing to do.
#include "ops/most_reduced.h"
#include "ops/rules.h"

namespace plimsoll::ops {
namespace {

Specs infer(const Attrs&, std::span<const Spec> in) {
  check_count(in, 1, kMostReduced);
  for (const Spec& weight : in)
    if (weight.dtype != DType::f32) refuse("a weight is " + to_string(weight), "f32 is needed");
  return {in.begin(), in.end()};
}

void nothing(const Attrs&, const Args&) noexcept {}

}  // namespace

extern const OpFamily gather;
const OpFamily gather{{
    {.name = "gather",
     .doc = "Weights whose shards the ranks of a run have updated, in place.",
     .infer = infer,
     .in_place = all_in_place(),
     .exchanged = true,
     .gathered = true,
     .cost = pass_over<0>,
     .kernels = {{"alone", plain_job<nothing>, kDense}},
     .samples = {{.in = {{plain({33, 7})}, {plain({5})}}}}},
}};

}  // namespace plimsoll::ops
