// A schedule with addresses.
#pragma once

#include "plan/problem.h"
#include "plan/tape.h"

namespace plimsoll {

// Places everything; never fails for want of memory, only grows. Deterministic. The fates must be
// ones a Scheduler can run.
Tape make_tape(const Problem& problem, const Fates& fates);

}  // namespace plimsoll
