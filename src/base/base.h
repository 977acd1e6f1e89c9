// The front door of base: what every folder stands on, without a word of the domain.
#pragma once

#include "base/bf16.h"          // IWYU pragma: export
#include "base/bytes.h"         // IWYU pragma: export
#include "base/cgroup.h"        // IWYU pragma: export
#include "base/cpu.h"           // IWYU pragma: export
#include "base/error.h"         // IWYU pragma: export
#include "base/files.h"         // IWYU pragma: export
#include "base/memory_usage.h"  // IWYU pragma: export
#include "base/random.h"        // IWYU pragma: export
#include "base/step_region.h"
#include "base/stopwatch.h"
#include "base/text.h"  // IWYU pragma: export
