// `plimsoll bench` with several ranks: how fast they are together, where the time of each goes, and
// how fast they would be if none of them waited for another.
#pragma once

#include "cli/bench_settings.h"
#include "dist/group.h"

namespace plimsoll::cli {

// As one of the ranks; rank 0 prints. Returns the exit code.
int bench_rank(BenchSettings& settings, dist::Group& group);

}  // namespace plimsoll::cli
