#include "exec/jobs.h"

#include "base/error.h"
#include "plan/storage.h"

namespace plimsoll {
namespace {

std::vector<Operand> operands(const Graph& graph, const Values& ids) {
  std::vector<Operand> result;
  for (ValueId id : ids) result.push_back({.spec = graph.spec(id), .dense = !graph.value(id).home});
  return result;
}

}  // namespace

std::vector<PreparedNode> prepare_nodes(const Graph& graph, KernelChoice choice) {
  std::vector<PreparedNode> prepared;
  for (const Node& node : graph.nodes()) {
    if (is_idle(graph, node)) {
      prepared.push_back({nullptr, "view"});
      continue;
    }
    const std::vector<Operand> in = operands(graph, node.in);
    const std::vector<Operand> out = operands(graph, node.out);
    PreparedNode ready;
    for (const Kernel& kernel : node.op->kernels) {
      if (choice == KernelChoice::reference && &kernel != &node.op->kernels.back()) continue;
      ready = {kernel.prepare({node.attrs, in, out}), kernel.name};
      if (ready.job) break;
    }
    if (!ready.job)
      throw UsageError({.where = node.op->name + " '" + node.name + "'",
                        .got = "no kernel can do this call",
                        .expected = "a shape one of them takes"});
    prepared.push_back(std::move(ready));
  }
  return prepared;
}

std::vector<NodeWork> work_of(const Graph& graph, const std::vector<PreparedNode>& nodes) {
  constexpr double kFlopsPerSecond = 1.0e11;
  constexpr double kBytesPerSecond = 1.0e10;
  constexpr double kCall = 4e-6;
  std::vector<NodeWork> work;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const Node& node = graph.nodes()[n];
    NodeWork known{.scratch = nodes[n].job ? nodes[n].job->scratch() : 0};
    if (nodes[n].job && node.op->cost != nullptr) {
      const Cost cost = cost_of(graph, node);
      known.nominal_seconds = kCall + cost.flops / kFlopsPerSecond + cost.bytes / kBytesPerSecond;
    }
    known.seconds = known.nominal_seconds;
    work.push_back(known);
  }
  return work;
}

}  // namespace plimsoll
