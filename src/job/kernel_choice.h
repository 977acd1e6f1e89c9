// Kernels by a table that was measured, or by rule.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "exec/kernel_contest.h"
#include "step/trainer.h"

namespace plimsoll::job {

// By the table in this file; empty: by the ops' own order. DataError.
KernelChoice choose_kernels(const std::string& file);

// Holds a contest for every different call of the trainer's first tape that several kernels take,
// and adds the fastest of each to the table; `tell` hears of every contest. A kernel that is not
// the first in the op's order must be 3 % faster: noise does not move a choice.
using OnContest = std::function<void(const Node& node, const std::vector<KernelTime>& times,
                                     const KernelTime& chosen)>;
KernelTable tune_kernels(const Trainer& trainer, int rounds, const OnContest& tell);

}  // namespace plimsoll::job
