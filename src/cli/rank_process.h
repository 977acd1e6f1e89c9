// This process as one of several ranks that a launcher has started together.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "dist/group.h"

namespace plimsoll::cli {

// What the launcher says in the environment.
struct Launch {
  int rank = 0;
  int ranks = 1;
};
// Of Open MPI's mpirun, or of Slurm's srun with PMIx; nothing where the process was started alone.
// UsageError where another MPI's mpiexec has started several.
std::optional<Launch> find_launch();

// Whether this process may print: rank 0, by what any launcher says, or alone.
bool speaks();

// The module for runs with ranks: beside the program, or where it was installed. May not exist.
std::filesystem::path mpi_module();

// Does `work` as a rank of those that were started together, or alone with null. The ranks were
// compared: the same program, processor and words, unless `mixed` processors are allowed. Returns
// the exit code, of rank 0 what `work` returns. What it throws ends all ranks: rank 0 tells what
// all know of, any other what happened to it alone.
int run_as_rank(bool mixed, const std::function<int(dist::Group*)>& work);

// Behind the program's name, as it was started.
std::vector<std::string> command_line();
std::filesystem::path program_path();

}  // namespace plimsoll::cli
