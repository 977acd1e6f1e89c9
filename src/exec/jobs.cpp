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

std::vector<NodeWork> work_of(const std::vector<PreparedNode>& nodes) {
  std::vector<NodeWork> work;
  for (const PreparedNode& node : nodes)
    work.push_back({.scratch = node.job ? node.job->scratch() : 0});
  return work;
}

}  // namespace plimsoll
