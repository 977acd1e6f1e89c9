#include "step/framework_estimate.h"

#include <algorithm>
#include <vector>

namespace plimsoll {
namespace {

// Resident before the first tensor: interpreter, libraries, kernels. Measured with PyTorch 2.13 and
// TensorFlow 2.21 (bench/fit).
constexpr std::int64_t kPytorchBase = std::int64_t{330} << 20;
constexpr std::int64_t kTensorflowBase = std::int64_t{600} << 20;

std::int64_t logical_bytes(const Spec& spec) { return spec.shape.elements() * size_of(spec.dtype); }

}  // namespace

FrameworkEstimate estimate_frameworks(const OpTable& ops, const nn::Input& input,
                                      const NetworkFactory& network, std::int64_t slots) {
  nn::Builder builder(ops, input, nn::Mode::training);
  network(builder);
  const Graph& graph = builder.graph();
  std::vector<bool> saved(graph.values().size(), false);
  std::int64_t positions = 0;
  std::int64_t largest = 0;
  std::int64_t weights = 0;
  for (const Value& value : graph.values()) {
    if (value.role == Role::parameter) weights += logical_bytes(value.spec);
    if (value.role == Role::temporary) largest = std::max(largest, logical_bytes(value.spec));
  }
  for (const Node& node : graph.nodes()) {
    switch (node.op->framework_holds) {
      case FrameworkHolds::nothing: break;
      case FrameworkHolds::input_and_positions:
        positions += graph.spec(node.out[0]).shape.elements() * size_of(DType::i64);
        [[fallthrough]];
      case FrameworkHolds::input: saved[node.in[0].at()] = true; break;
      case FrameworkHolds::output: saved[node.out[0].at()] = true; break;
    }
  }
  FrameworkEstimate estimate;
  for (std::size_t v = 0; v < saved.size(); ++v)
    if (saved[v] && !is_resident(graph.values()[v].role))
      estimate.saved += logical_bytes(graph.values()[v].spec);
  // Weights, gradients, slots; and the two largest gradients of activations that meet.
  const std::int64_t state = weights * (2 + slots) + 2 * largest;
  estimate.pytorch = kPytorchBase + estimate.saved + positions + state;
  estimate.keras = kTensorflowBase + estimate.saved + state + largest;
  return estimate;
}

}  // namespace plimsoll
