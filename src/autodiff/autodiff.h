// Backward as graph: what it reads are edges the planner can see.
#pragma once

#include <utility>
#include <vector>

#include "graph/graph.h"

namespace plimsoll {

// A parameter and the value that is the gradient of the loss by it.
struct Gradient {
  ValueId parameter;
  ValueId value;
};

// Appends to `graph` the nodes that compute d loss / d parameter for every value of role parameter
// that `loss` (one element) depends on. Gradients are returned last parameter first, as backward
// makes them, and marked Role::gradient. Where a value feeds several nodes their gradients are
// summed as they arrive, in reverse order of the nodes. Throws UsageError naming a node on the way
// that has no gradient.
std::vector<Gradient> append_backward(Graph& graph, ValueId loss);

}  // namespace plimsoll
