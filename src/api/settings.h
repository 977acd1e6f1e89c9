// Public settings as those of a job.
#pragma once

#include <plimsoll/settings.h>

#include "job/run_settings.h"

namespace plimsoll::api {

// UsageError.
job::RunSettings checked(job::RunSettings settings);
// The same, checked.
job::RunSettings run_settings(const v1::Settings& settings);

}  // namespace plimsoll::api
