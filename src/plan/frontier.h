// Bytes against time: every plan worth having for one graph.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/problem.h"

namespace plimsoll {

// Which fates the user permits beside keeping and making again.
struct Means {
  bool half = false;   // lossy
  bool spill = false;  // needs a file
  bool operator==(const Means&) const = default;
};

struct PlanPoint {
  std::int64_t bytes = 0;  // top of the arena behind the residents, after placement
  double extra_seconds = 0;
  Fates fates;
  std::vector<std::int64_t> offsets;  // of the blocks of its schedule, behind the residents
  bool operator==(const PlanPoint&) const = default;
};

// Points by falling bytes and strictly rising time: the first is the fastest plan, the last the
// floor. Never empty.
struct Frontier {
  std::vector<PlanPoint> points;

  // The fastest point of at most `bytes`; null when even the floor is larger. More bytes never give
  // a slower point.
  const PlanPoint* best_within(std::int64_t bytes) const;
  std::int64_t floor() const { return points.back().bytes; }
  std::int64_t unlimited() const { return points.front().bytes; }
};

// Deterministic: a fixed number of tries in a fixed sequence. The floor does not depend on
// NodeWork::seconds.
Frontier find_frontier(const Problem& problem, const Means& means);
// The floor of that frontier, and nothing else.
PlanPoint find_smallest(const Problem& problem, const Means& means);

}  // namespace plimsoll
