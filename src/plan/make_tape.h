// A schedule with addresses.
#pragma once

#include <span>

#include "plan/problem.h"
#include "plan/tape.h"

namespace plimsoll {

// Places everything; never fails for want of memory, only grows. Deterministic. The fates must be
// ones a Scheduler can run.
Tape make_tape(const Problem& problem, const Fates& fates);

// The same with places that are known: one offset per block of its schedule, behind the residents.
Tape make_tape(const Problem& problem, const Fates& fates, std::span<const std::int64_t> offsets);

}  // namespace plimsoll
