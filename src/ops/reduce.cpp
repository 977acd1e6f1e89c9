// Sums over the ranks of a run. What they hold of each other's sums they exchange behind this node;
// alone there is nothing to do.
#include "ops/most_reduced.h"
#include "ops/rules.h"

namespace plimsoll::ops {
namespace {

constexpr auto kMostSums = static_cast<std::int64_t>(kMostReduced);

// [sums..., slots...]
Specs infer(const Attrs& attrs, std::span<const Spec> in) {
  const std::int64_t sums = attrs.integer("sums");
  if (sums < 1 || sums > kMostSums || sums > std::ssize(in) || std::ssize(in) % sums != 0)
    refuse(std::to_string(in.size()) + " inputs for " + std::to_string(sums) + " sums",
           "1 to " + std::to_string(kMostSums) + " sums are needed, each with as many slots");
  const auto count = static_cast<std::size_t>(sums);
  const std::size_t slots = in.size() / count - 1;
  for (std::size_t i = 0; i < count; ++i) {
    if (in[i].dtype != DType::f32) refuse("a sum is " + to_string(in[i]), "f32 is needed");
    for (std::size_t s = 0; s < slots; ++s) check_same(in[count + i * slots + s], in[i], "a slot");
  }
  return {in.begin(), in.begin() + sums};
}

void nothing(const Attrs&, const Args&) noexcept {}

std::vector<Sample> samples() {
  const SampleInput kernel{plain({33, 7})};
  const SampleInput bias{plain({5})};
  return {{.in = {kernel, bias}, .attrs = {{"sums", std::int64_t{2}}}},
          {.in = {kernel, bias, kernel, kernel, bias, bias}, .attrs = {{"sums", std::int64_t{2}}}}};
}

}  // namespace

extern const OpFamily reduce;
const OpFamily reduce{{
    {.name = "reduce",
     .doc = "Sums over all ranks of a run, in place. in: a rank's sums, then the slots of each.",
     .attrs = {{"sums", std::int64_t{1}, "how many"}},
     .infer = infer,
     .in_place = all_in_place(),
     .exchanged = true,
     .cost = pass_over<0>,
     .kernels = {{"alone", plain_job<nothing>, kDense}},
     .samples = samples()},
}};

}  // namespace plimsoll::ops
