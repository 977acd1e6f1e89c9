// Who exchanges sums with the other ranks of a run while a tape is walked.
#pragma once

#include <cstddef>
#include <span>

#include "plan/tape.h"

namespace plimsoll {

// Everything is called by the thread that runs steps. What goes wrong, its owner tells: a step goes
// to its end all the same, with results that are worthless.
class ExchangeCarrier {
 public:
  virtual ~ExchangeCarrier() = default;
  // The exchanges of a tape and the arena they lie in, which stay. Before the first step.
  virtual void prepare(std::size_t tape, std::span<const Exchange> exchanges, std::byte* arena) = 0;
  virtual void begin_step(std::size_t tape) noexcept = 0;
  // The tape's next exchange may begin.
  virtual void post() noexcept = 0;
  // Returns when the first `count` exchanges are complete.
  virtual void wait_for(std::size_t count) noexcept = 0;
  virtual void end_step() noexcept = 0;
};

}  // namespace plimsoll
