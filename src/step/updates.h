// The end of a training graph: weights follow their gradients.
#pragma once

#include <vector>

#include "autodiff/autodiff.h"
#include "step/step_graph.h"

namespace plimsoll {

// Adds the update of every weight that has a gradient, what the optimizer remembers of it and its
// average, and tells `step` of them. Updates ask the norm whether they may change anything. Where
// ranks share that out (PartRequest::shards), this one updates and remembers its shard of each, and
// gets the others' in buckets that follow from the graph alone.
void append_updates(Graph& graph, const std::vector<Gradient>& gradients,
                    const OptimizerOp& optimizer, const Tuning& tuning, const PartRequest& part,
                    ValueId norm, StepGraph* step);

}  // namespace plimsoll
