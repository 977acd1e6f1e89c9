// A plan is plain data: what runs, in which order, and where every operand lies.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace plimsoll {

// One node executed once. Offsets are bytes from the beginning of the arena, one per operand of the
// node, in its order; a slice's offset is where its first image's first channel lies.
struct Instruction {
  NodeId node;
  bool again = false;  // a recomputation of something that ran before in this step
  std::vector<std::int64_t> in;
  std::vector<std::int64_t> out;
  std::int64_t scratch = 0;
};

struct Placed {
  ValueId value;
  std::int64_t offset = 0;
};

// One kind of step (training, evaluation, the partial last batch), ready to be walked.
struct Tape {
  std::vector<Instruction> instructions;
  std::vector<Placed> inputs;   // to be written before the step
  std::vector<Placed> results;  // to be read after it
  std::int64_t arena_bytes = 0;
  std::int64_t live_bytes = 0;  // the largest sum of live bytes: no placement can be smaller
};

}  // namespace plimsoll
