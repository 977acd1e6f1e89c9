#include "machine/team.h"

#include <omp.h>

#include <algorithm>

#include "base/cpu.h"

namespace plimsoll {

int use_threads(std::optional<std::int64_t> threads) {
  const int count =
      threads ? check_threads(*threads) : std::min(usable_cores(), omp_get_max_threads());
  omp_set_dynamic(0);
  omp_set_num_threads(count);
  // Kernels that wait for threads that were not given would wait for ever.
  int given = 1;
#pragma omp parallel
#pragma omp single
  given = omp_get_num_threads();
  omp_set_num_threads(given);
  return given;
}

int team_size() { return omp_get_max_threads(); }

}  // namespace plimsoll
