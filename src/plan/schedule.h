// The order of execution with recomputations in it, and how long every value is needed.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/plan.h"

namespace plimsoll {

// One stretch of time in which a root value holds its content. A dropped value has several.
struct Instance {
  ValueId root;
  int first = 0;  // step that writes it first; -1: there before the step
  int last = 0;   // last step that touches it
};

// One execution. Operands name instances; -1 stands for a resident.
struct ScheduledNode {
  NodeId node;
  bool again = false;
  std::vector<int> in;
  std::vector<int> out;
};

struct Schedule {
  std::vector<ScheduledNode> steps;
  std::vector<Instance> instances;
  std::vector<int> input_instance;   // per value: of a fed input; -1 otherwise
  std::vector<int> result_instance;  // per request.results
};

// Runs nodes in graph order; before a backward node that reads a dropped value, runs again what
// makes it, once, and keeps that until its last use.
Schedule make_schedule(const PlanRequest& request);

}  // namespace plimsoll
