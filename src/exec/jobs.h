// Kernels chosen and made ready for every node of a graph.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "exec/kernel_table.h"
#include "graph/graph.h"
#include "plan/plan.h"

namespace plimsoll {

// Which kernels may serve. Chosen by rule, never by timing: what a table says of the call, or else
// the first of the op's list that can.
struct KernelChoice {
  bool reference = false;  // the last of each list: slow, obvious, also in f64
  std::shared_ptr<const KernelTable> table = {};
};

// Where the calling thread's steps would run: by its OpenMP team, with the process's instructions.
Environment this_process();

struct PreparedNode {
  std::unique_ptr<Job> job;        // null for nodes that move no bytes
  const Kernel* kernel = nullptr;  // that made the job

  std::string_view kernel_name() const { return kernel != nullptr ? kernel->name : "view"; }
};

// Chooses a kernel for every node, gives values homes as far as those kernels take slices, and
// makes a job for every node. Throws UsageError naming the node when no kernel takes its call.
std::vector<PreparedNode> prepare_nodes(Graph& graph, const KernelChoice& choice = {},
                                        const Environment& environment = this_process());

// Scratch of the kernels, and seconds by a rule: as fast as our kernels are on two cores of a
// current processor.
std::vector<NodeWork> work_of(const Graph& graph, const std::vector<PreparedNode>& nodes);

}  // namespace plimsoll
