// A plan as text: one line per instruction, stable, so that versions diff well.
#pragma once

#include <string>
#include <string_view>

#include "graph/graph.h"
#include "plan/tape.h"

namespace plimsoll {

// Names the graph by a checksum of its own text and ends with a checksum of all lines before.
std::string plan_text(const Tape& tape, const Graph& graph);

// The tape that plan_text() printed. DataError naming source and line when the text is damaged or
// belongs to another graph. What comes back is well-formed, not yet proven: see plan/replay.h.
Tape parse_plan(std::string_view text, const Graph& graph, std::string_view source);

}  // namespace plimsoll
