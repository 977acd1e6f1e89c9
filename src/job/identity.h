// What makes a run the run it is, and how much it will write.
#pragma once

#include "job/run_settings.h"

namespace plimsoll::job {

// Which pictures with which labels, wherever they lie: a moved folder is the same data.
std::string fingerprint(const Source& source);

RunIdentity identity_of(const RunSettings& settings, const TrainingData& data,
                        const nn::Input& input);

// What the run directory will hold at the most.
RunFiles files_of(const RunSettings& settings, const TrainingData& data, const nn::Input& input);

}  // namespace plimsoll::job
