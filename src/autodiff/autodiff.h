// Backward as graph: what it reads are edges the planner can see.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace plimsoll {

// A value and the gradient by it: of what is differentiated where it is a seed, of its sum over all
// seeds where it is a result.
struct Gradient {
  ValueId of;
  ValueId value;
};

// Appends to `graph`, in phase `phase`, the nodes that compute the gradient by every one of
// `targets` (parameters, inputs or values inside the network) that a seed depends on: the sum over
// all seeds of their gradient times their derivative. Gradients are returned last target first, as
// backward makes them; those of parameters are marked Role::gradient. Where a value feeds several
// nodes their gradients are summed as they arrive, in reverse order of the nodes. Throws UsageError
// naming a node on the way that has no gradient.
std::vector<Gradient> append_backward(Graph& graph, const std::vector<Gradient>& seeds,
                                      const Values& targets, Phase phase = Phase::backward);

// All parameters of a graph, in order.
Values parameters_of(const Graph& graph);

// The same for one loss (one element) by every parameter.
std::vector<Gradient> append_backward(Graph& graph, ValueId loss);

}  // namespace plimsoll
