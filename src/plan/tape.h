// A plan is plain data: what runs, in which order, and where every operand lies.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.h"

namespace plimsoll {

enum class StepKind : std::uint8_t {
  run,     // a node of the graph
  pack,    // a value into its 16-bit form
  unpack,  // and back
};

// One execution. Offsets are bytes from the beginning of the arena, one per operand of the node, in
// its order; a slice's offset is where its first image's first channel lies.
struct Instruction {
  StepKind kind = StepKind::run;
  bool again = false;        // makes a value that was there before in this step
  NodeId node = kNoNode;     // of run
  ValueId value = kNoValue;  // of pack and unpack; a value with a home of its own
  std::vector<std::int64_t> in;
  std::vector<std::int64_t> out;
  std::int64_t scratch = 0;
  std::int64_t packed = -1;  // of run: where it also writes the 16-bit form of its first operand
  bool operator==(const Instruction&) const = default;
};

// A value on its way to the spill file or back, while instructions run. A store may begin when
// `begin` instructions are done, a load likewise; both must be complete before instruction `end`
// begins, and the instructions in between leave the bytes alone (those of a store may be read).
struct Transfer {
  bool store = false;
  ValueId value = kNoValue;
  std::int64_t offset = 0;  // in the arena
  std::int64_t bytes = 0;
  std::int64_t file_offset = 0;
  std::int32_t begin = 0;
  std::int32_t end = 0;
  bool operator==(const Transfer&) const = default;
};

// Sums that go to other ranks and come back whole, or weights of which every rank has updated its
// shard, while instructions run: those of a node whose op is `exchanged`. It begins when `begin`
// instructions are done, of which the node is the last, and must be complete before instruction
// `end` begins; the instructions in between leave its bytes alone.
struct Exchange {
  struct Segment {
    std::int64_t offset = 0;  // in the arena
    std::int64_t bytes = 0;
    bool operator==(const Segment&) const = default;
  };
  NodeId node = kNoNode;
  std::vector<Segment> segments;  // the node's inputs: those overwritten, and the slots of sums
  bool gathers = false;           // as its op is `gathered`
  std::int32_t begin = 0;
  std::int32_t end = 0;
  bool operator==(const Exchange&) const = default;
};

struct PlacedValue {
  ValueId value;
  std::int64_t offset = 0;
  bool operator==(const PlacedValue&) const = default;
};

// One kind of step (training, evaluation, the partial last batch), ready to be walked.
struct Tape {
  std::vector<Instruction> instructions;
  std::vector<Transfer> transfers;   // in the order they may begin
  std::vector<Exchange> exchanges;   // likewise
  std::vector<PlacedValue> inputs;   // to be written before the step
  std::vector<PlacedValue> results;  // to be read after it
  std::int64_t arena_bytes = 0;
  std::int64_t spill_bytes = 0;  // of the file that transfers use
  bool operator==(const Tape&) const = default;
};

}  // namespace plimsoll
