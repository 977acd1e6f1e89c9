// What a rank may use of the host that it shares with others.
#pragma once

#include <cstdint>
#include <optional>

#include "dist/group.h"
#include "job/memory_settings.h"

namespace plimsoll::cli {

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
