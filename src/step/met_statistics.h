// BatchNorm over all parts of a batch (`--bn sync`).
#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.h"
#include "passes/passes.h"

namespace plimsoll {

// Where a BatchNorm is trained, the statistics of all parts of the batch take the place of the
// part's own: a node behind them at which parts meet. Before autodiff, which adds another one on
// the way back.
Graph meet_statistics(const Graph& graph, const Keep& keep);

// The nodes at which parts meet, in the order in which every part comes to them.
std::vector<NodeId> meetings_of(const Graph& graph);

}  // namespace plimsoll
