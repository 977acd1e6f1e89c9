// The OpenMP team of this process.
#pragma once

#include <cstdint>
#include <optional>

namespace plimsoll {

// Sets the size of the team for the whole process, for all OpenMP code in it, and returns what was
// given: OMP_THREAD_LIMIT and its kin may leave fewer. None: the cores the process may use, or
// OMP_NUM_THREADS if that is fewer. UsageError for a number that makes no sense.
// Nothing else here changes the team: a caller who has one of its own leaves this out.
int use_threads(std::optional<std::int64_t> threads);

// The size of the team as it is.
int team_size();

}  // namespace plimsoll
