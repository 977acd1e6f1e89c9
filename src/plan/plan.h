// Front door: from a graph to a tape. Order, what to keep, where it lies; and the proof of it.
#pragma once

#include "plan/carry.h"          // IWYU pragma: export
#include "plan/fate.h"           // IWYU pragma: export
#include "plan/frontier.h"       // IWYU pragma: export
#include "plan/frontier_file.h"  // IWYU pragma: export
#include "plan/make_tape.h"      // IWYU pragma: export
#include "plan/plan_file.h"      // IWYU pragma: export
#include "plan/problem.h"        // IWYU pragma: export
#include "plan/replay.h"         // IWYU pragma: export
#include "plan/tape.h"           // IWYU pragma: export
#include "plan/usage.h"          // IWYU pragma: export
