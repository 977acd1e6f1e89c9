// The independent checker: replays a tape against its graph, byte by byte of the arena, and shares
// no code with the planner.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "plan/tape.h"

namespace plimsoll {

// What must hold for a tape beside its graph.
struct ReplayRules {
  std::vector<std::int64_t> resident_offset;  // per value; -1 for those that are not resident
  std::int64_t resident_bytes = 0;
  std::vector<std::int64_t> scratch;  // per node: bytes its kernel writes
  std::vector<bool> packs;            // per node: whether its kernel writes 16-bit forms
  Values results;                     // values somebody reads after the step
};

// Empty if the tape is good: every node runs and every operand holds the value it should when it is
// read, recomputed values are made of the same values as before, nothing overlaps what it must not,
// everything is inside the arena, weights change by their updates only, sums are exchanged before
// they are read, results are there at the end. Otherwise the first fault, in words. Never throws
// for what a tape contains.
std::optional<std::string> find_fault(const Graph& graph, const Tape& tape,
                                      const ReplayRules& rules);

}  // namespace plimsoll
