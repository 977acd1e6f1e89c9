// What the checker looks at before it looks anything up: that every number of a tape is one of its
// graph. Shares no code with the planner.
#pragma once

#include <cstdint>

#include "graph/graph.h"
#include "plan/tape.h"

namespace plimsoll::replay {

// Throws Fault.
void check_form(const Graph& graph, const Tape& tape, std::int64_t resident_bytes);

}  // namespace plimsoll::replay
