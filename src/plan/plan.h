// From a graph to a tape: order, what to keep, where it lies.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/graph.h"
#include "plan/tape.h"

namespace plimsoll {

// What the planner must know about a node and cannot see in the graph.
struct NodeWork {
  std::int64_t scratch = 0;  // exact bytes of its kernel
};

// Everything that decides a tape. Values are indexed by ValueId, nodes by NodeId.
struct PlanRequest {
  const Graph& graph;
  std::span<const NodeWork> work;
  std::vector<std::int64_t> resident_offset;  // per value; -1 for those that are not resident
  std::int64_t resident_bytes = 0;            // temporaries lie behind these
  Values results;                             // values somebody reads after the step
  std::vector<bool> drop;          // per value: forget after forward, recompute in backward
  std::size_t backward_begin = 0;  // index of the first node of backward; size() if none
};

// Aligned so that no two values share a cache line.
inline constexpr std::int64_t kAlignment = 64;

// Values of which backward needs the content, but which one pass over kept values makes again: with
// conv - BatchNorm - ReLU, everything but the convolution's output.
std::vector<bool> cheap_drops(const Graph& graph, std::size_t backward_begin);

// Places everything; never fails, only grows. Deterministic.
Tape make_tape(const PlanRequest& request);

}  // namespace plimsoll
