// What a run says of itself without being asked.
#pragma once

#include <optional>
#include <string>

#include "data/batch/pipeline.h"
#include "run/run_event.h"

namespace plimsoll {

// What a run that mostly waits for data should know; empty where it does not, or too early to say.
std::string input_bound_text(const Progress& progress, const Pipeline& data);

// The number that says which epoch is better, smaller is better: the loss, or a metric of the task.
double monitored_value(const Task& task, const std::optional<std::size_t>& metric,
                       const Evaluation& evaluation);

}  // namespace plimsoll
