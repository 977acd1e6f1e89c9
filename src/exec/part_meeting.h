// Where parts of a batch that run together make one of what each of them has.
#pragma once

#include <span>

#include "graph/graph.h"
#include "tensor/view.h"

namespace plimsoll {

class PartMeeting {
 public:
  virtual ~PartMeeting() = default;
  // The outputs of a node of every part that runs here, those of one behind those of the one
  // before: what they hold is the part's own, and what they are to hold all parts'. By the thread
  // that runs steps. What goes wrong, its owner tells, as with an ExchangeCarrier.
  virtual void meet(const Node& node, std::span<const TensorView> outs) noexcept = 0;
};

}  // namespace plimsoll
