// What the checker knows about values that lie in one another: a concat or split that never runs
// only names what lies elsewhere. Shares no code with the planner.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.h"
#include "plan/replay_memory.h"
#include "plan/tape.h"

namespace plimsoll::replay {

// Channels of a value that are channels of another one, which a node or nobody made.
struct Part {
  ValueId maker_value;
  std::int64_t first_channel = 0;
  std::int64_t channels = 0;
};

class Parts {
 public:
  // Every node of `tape` is one of `graph`. Throws Fault if a node that is no view never runs.
  Parts(const Graph& graph, const Tape& tape);

  const std::vector<Part>& of(ValueId id) const { return parts_[id.at()]; }

  // body(range of the arena, value whose content lies there, first byte of it) for every piece of
  // `id` stored at `offset`.
  template <class Body>
  void for_pieces(ValueId id, std::int64_t offset, Body body) const {
    const Spec& spec = graph_.spec(id);
    if (spec.layout != Layout::blocked) return body(Range{offset, spec.bytes()}, id, 0);
    ValueId outer = id;
    while (graph_.value(outer).home) outer = graph_.value(outer).home->parent;
    const std::int64_t images = spec.shape[0];
    const std::int64_t stride = graph_.spec(outer).bytes() / images;
    const std::vector<Part>& parts = of(id);
    if (parts.size() == 1 && parts[0].maker_value == id && stride * images == spec.bytes())
      return body(Range{offset, spec.bytes()}, id, 0);
    const std::int64_t pixel_bytes = spec.shape[2] * spec.shape[3] * size_of(spec.dtype);
    for (std::int64_t n = 0; n < images; ++n) {
      std::int64_t position = offset + n * stride;
      for (const Part& part : parts) {
        const std::int64_t bytes = round_up(part.channels, spec.lanes) * pixel_bytes;
        const std::int64_t from =
            n * (graph_.spec(part.maker_value).bytes() / images) + part.first_channel * pixel_bytes;
        body(Range{position, bytes}, part.maker_value, from);
        position += bytes;
      }
    }
  }

  // All bytes that such an operand may touch, as one range per image.
  std::vector<Range> extent(ValueId id, std::int64_t offset) const;

 private:
  const Graph& graph_;
  std::vector<std::vector<Part>> parts_;  // per value
};

}  // namespace plimsoll::replay
