#include "exec/jobs.h"

#include <omp.h>

#include <algorithm>

#include "base/cpu.h"
#include "base/error.h"
#include "passes/passes.h"
#include "plan/storage.h"

namespace plimsoll {
namespace {

std::vector<Operand> operands(const Graph& graph, const Values& ids) {
  std::vector<Operand> result;
  for (ValueId id : ids) result.push_back({.spec = graph.spec(id), .dense = !graph.value(id).home});
  return result;
}

using Kernels = std::vector<const Kernel*>;

// The op's kernels, the one that the table names before the others.
Kernels candidates(const Graph& graph, const Node& node, const KernelChoice& choice,
                   const Environment& environment) {
  if (choice.reference) return {&node.op->kernels.back()};
  Kernels kernels;
  for (const Kernel& kernel : node.op->kernels) kernels.push_back(&kernel);
  if (choice.table == nullptr) return kernels;
  const std::string_view wanted = choice.table->find(graph, node, environment);
  std::stable_partition(kernels.begin(), kernels.end(),
                        [&](const Kernel* kernel) { return kernel->name == wanted; });
  return kernels;
}

// With the first of these kernels that takes the call.
PreparedNode prepare_node(const Graph& graph, const Node& node, const Kernels& kernels,
                          const Environment& environment) {
  const std::vector<Operand> in = operands(graph, node.in);
  const std::vector<Operand> out = operands(graph, node.out);
  for (const Kernel* kernel : kernels)
    if (auto job = prepare(*kernel, {node.attrs, in, out, environment}))
      return {std::move(job), kernel};
  throw UsageError({.where = node.op->name + " '" + node.name + "'",
                    .got = "no kernel can do this call",
                    .expected = "a shape one of them takes"});
}

bool has_slices(const Graph& graph, const Node& node) {
  const auto is_slice = [&](ValueId id) { return graph.value(id).home.has_value(); };
  return std::any_of(node.in.begin(), node.in.end(), is_slice) ||
         std::any_of(node.out.begin(), node.out.end(), is_slice);
}

}  // namespace

Environment this_process() {
  return {.threads = omp_get_max_threads(),
          .isa = process_isa(),
          .halves_avx512 = plimsoll::halves_avx512()};
}

std::vector<PreparedNode> prepare_nodes(Graph& graph, const KernelChoice& choice,
                                        const Environment& environment) {
  std::vector<PreparedNode> prepared;
  std::vector<bool> takes_slices;
  for (const Node& node : graph.nodes()) {
    prepared.push_back(
        prepare_node(graph, node, candidates(graph, node, choice, environment), environment));
    takes_slices.push_back(prepared.back().kernel->traits.slices);
  }
  settle_views(graph, takes_slices);
  for (std::size_t n = 0; n < prepared.size(); ++n) {
    const Node& node = graph.nodes()[n];
    if (is_idle(graph, node))
      prepared[n] = {};
    else if (has_slices(graph, node))
      prepared[n] = prepare_node(graph, node, {prepared[n].kernel}, environment);
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
    NodeWork known{.scratch = nodes[n].job ? nodes[n].job->scratch() : 0,
                   .packs = nodes[n].kernel != nullptr && nodes[n].kernel->traits.packs};
    if (nodes[n].job && node.op->cost != nullptr) {
      const Cost cost = cost_of(graph, node);
      known.nominal_seconds = kCall + nodes[n].job->arithmetic() * cost.flops / kFlopsPerSecond +
                              cost.bytes / kBytesPerSecond;
    }
    known.seconds = known.nominal_seconds;
    work.push_back(known);
  }
  return work;
}

}  // namespace plimsoll
