// Which values share bytes because one lies inside the other.
#pragma once

#include <vector>

#include "graph/graph.h"

namespace plimsoll {

// The outermost value that `id` lies in: itself, unless it has a home.
ValueId root_of(const Graph& graph, ValueId id);

// Bytes from the beginning of root_of(id) to the first element of `id`.
std::int64_t offset_in_root(const Graph& graph, ValueId id);

// True when the node moves no bytes at all because every operand is in place already.
bool is_idle(const Graph& graph, const Node& node);

}  // namespace plimsoll
