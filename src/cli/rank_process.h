// This process as one of several ranks that a launcher has started together.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "dist/group.h"
#include "job/memory_settings.h"

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

// What mpirun or its daemon holds on every host.
inline constexpr std::int64_t kLauncherBytes = std::int64_t{20} << 20;
// What a host has, split evenly over its ranks once mpirun has had its part.
job::Budget split_budget(const job::Budget& of_host, std::int64_t ranks);
// What this rank may use of its host.
struct RankShare {
  std::optional<std::int64_t> threads;  // for use_threads()
  job::Budget budget;
};
// With null all that was asked for; else its part, the same number of threads on all ranks or else
// a UsageError. Rank 0 prints who they are, and what keeps them from more, unless it is quiet.
RankShare share_of_host(dist::Group* group, std::optional<std::int64_t> threads,
                        const job::MemorySettings& memory, bool quiet);

}  // namespace plimsoll::cli
