// Backward of a loss that is the sum of several heads'.
#pragma once

#include <vector>

#include "autodiff/autodiff.h"
#include "task/task.h"

namespace plimsoll {

// Appends the gradients of all parts by every parameter: of each part up to its features in phase
// loss, so that it can run with its head (run_by_section), then of the rest of the network and, if
// there is one, of the penalty, in phase backward. What several parts share (weights, features) is
// summed in their order. Every part and the penalty count `share` times, a value of one element;
// without one, once.
std::vector<Gradient> append_backward_by_parts(Graph& graph,
                                               const std::vector<TaskValues::Part>& parts,
                                               ValueId penalty, ValueId share = kNoValue);

}  // namespace plimsoll
