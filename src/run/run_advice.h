// What a run says of itself without being asked.
#pragma once

#include <string>

#include "data/batch/pipeline.h"
#include "run/run_event.h"

namespace plimsoll {

// What a run that mostly waits for data should know; empty where it does not, or too early to say.
std::string input_bound_text(const Progress& progress, const Pipeline& data);

}  // namespace plimsoll
