// What a run decides by what validation has shown: which epoch is best, when the learning rate
// falls, when it is enough. Arithmetic on the state, so that a run that was killed decides the same
// again.
#pragma once

#include <cstdint>
#include <optional>

#include "run/rate_schedule.h"
#include "run/run_state.h"
#include "step/evaluation.h"

namespace plimsoll {

// The number that says which epoch is better, smaller is better: the loss, or a metric of the task.
double monitored_value(const Task& task, const std::optional<std::size_t>& metric,
                       const Evaluation& evaluation);

// Takes note of the monitored number of an epoch (counted from 1), smaller is better; true if no
// epoch before was as good. Only whole epochs count as epochs without a better one.
bool note_validation(RunState& state, double monitored, std::int64_t epoch, bool is_whole);

// No better epoch for `patience` epochs; never if that is 0.
bool is_enough(const RunState& state, std::int64_t patience);

// Takes note of an epoch's loss; true if the rate falls from here on because it did not. `peak` is
// the schedule's rate, which the rule's least one is a share of.
bool follow_plateau(RunState& state, const RateSchedule::PlateauRule& rule, double peak,
                    double loss);

// Where a run stands that goes back to a checkpoint: at a rate times `factor`, with one more
// rollback to its name.
RunState rolled_back(const RunState& now, const RunState& checkpoint, double factor);

}  // namespace plimsoll
