// The kernels of an op against each other on one call.
#pragma once

#include <vector>

#include "graph/graph.h"
#include "tensor/kernel.h"

namespace plimsoll {

struct KernelTime {
  const Kernel* kernel = nullptr;
  double seconds = 0;        // median
  std::int64_t scratch = 0;  // bytes
};

// Every kernel but the reference that takes the node's call, in the op's order, each on memory of
// its own that is filled with small numbers; rounds are interleaved. One that is three times slower
// than another is not asked again. Maps as much memory as the operands and all scratch take.
std::vector<KernelTime> hold_contest(const Graph& graph, const Node& node,
                                     const Environment& environment, int rounds);

}  // namespace plimsoll
