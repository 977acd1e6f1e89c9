// Starting the ranks of a run: mpirun with the words it needs, and what becomes of it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "cli/mpirun.h"
#include "dist/group.h"

namespace plimsoll::cli {

// What the launcher must know of the run beside.
struct LaunchedRun {
  std::int64_t parts = 1;               // more ranks than these have nothing to do
  std::optional<std::int64_t> threads;  // of each rank; none: its part of the cores
  std::filesystem::path out;            // empty: rank 0 chooses, and tells
};

// Starts mpirun with this program's own words but for those above, waits, starts it again where a
// rank died and that was asked for, and returns the exit code. INT, TERM and HUP let the ranks
// finish their step and save; a second one ends them. UsageError if there is no mpirun.
int launch_ranks(const RankOptions& options, const LaunchedRun& run);

// Does `work` with the ranks that were asked for: starts them, or is one of those that were
// started, or alone. Returns the exit code. UsageError.
int run_ranks(const RankOptions& options, const LaunchedRun& run,
              const std::function<int(dist::Group*)>& work);

// Where rank 0 of a run that was launched so tells the launcher its directory.
void tell_launcher(const std::filesystem::path& out);

}  // namespace plimsoll::cli
