// What a step or a part of one tells.
#pragma once

#include <cstdint>
#include <span>

#include "task/task.h"

namespace plimsoll {

struct StepResult {
  double loss = 0;           // mean over the batch, regularisation not counted
  MetricValues sums = {};    // over the batch, one per metric of the task
  double gradient_norm = 0;  // training only; not finite: nothing was updated
};

// Of one part of a batch. Plain bytes, so that ranks can tell each other.
struct PartResult {
  std::int32_t part = 0;
  double share = 1;  // of the batch
  double loss = 0;   // mean over the part
  MetricValues sums = {};
};

// What parts add up to; those of a whole batch are given in their order, so that the sum is the
// same whoever computed them. Nothing is known of the norm.
inline StepResult sum_of(std::span<const PartResult> parts) {
  StepResult sum;
  for (const PartResult& part : parts) {
    sum.loss += part.share * part.loss;
    for (std::size_t m = 0; m < sum.sums.size(); ++m) sum.sums[m] += part.sums[m];
  }
  return sum;
}

}  // namespace plimsoll
