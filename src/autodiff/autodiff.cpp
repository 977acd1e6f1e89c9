#include "autodiff/autodiff.h"

#include "base/error.h"

namespace plimsoll {
namespace {

// For every value: whether a parameter can reach it.
std::vector<bool> find_trained(const Graph& graph) {
  std::vector<bool> trained(graph.values().size(), false);
  for (std::size_t i = 0; i < trained.size(); ++i)
    trained[i] = graph.values()[i].role == Role::parameter;
  for (const Node& node : graph.nodes())
    for (ValueId in : node.in)
      if (trained[in.at()])
        for (ValueId out : node.out) trained[out.at()] = true;
  return trained;
}

}  // namespace

std::vector<Gradient> append_backward(Graph& graph, ValueId loss) {
  const std::vector<bool> trained = find_trained(graph);
  const std::size_t forward_nodes = graph.nodes().size();
  std::vector<ValueId> gradient(graph.values().size(), kNoValue);

  gradient[loss.at()] = graph.call1("fill", {}, {{"value", 1.0}, {"shape", Ints{1}}},
                                    graph.value(loss).name + "/seed");

  std::vector<Gradient> found;
  for (std::size_t n = forward_nodes; n-- > 0;) {
    const Node& node = graph.nodes()[n];
    Values dy;
    bool reached = false;
    for (ValueId out : node.out) {
      dy.push_back(gradient[out.at()]);
      reached = reached || gradient[out.at()];
    }
    std::vector<bool> wants;
    bool wanted = false;
    for (ValueId in : node.in) {
      wants.push_back(trained[in.at()]);
      wanted = wanted || trained[in.at()];
    }
    if (!reached || !wanted) continue;
    if (node.op->backward == nullptr)
      throw UsageError({.where = node.op->name + " '" + node.name + "'",
                        .got = "lies between a parameter and the loss but has no gradient",
                        .expected = "only differentiable ops there"});
    const Values dx = node.op->backward({graph, node, dy, wants});
    expect(dx.size() == node.in.size(), "backward gives one gradient per input");
    for (std::size_t i = 0; i < dx.size(); ++i) {
      if (!dx[i] || !wants[i]) continue;
      ValueId& sum = gradient[node.in[i].at()];
      sum = sum ? graph.call1("add", {sum, dx[i]}, {}, graph.value(node.in[i]).name + "/grad/sum")
                : dx[i];
    }
  }
  for (std::size_t i = gradient.size(); i-- > 0;) {
    const ValueId parameter{static_cast<std::int32_t>(i)};
    if (graph.value(parameter).role != Role::parameter || !gradient[i]) continue;
    graph.value(gradient[i]).role = Role::gradient;
    found.push_back({parameter, gradient[i]});
  }
  return found;
}

}  // namespace plimsoll
