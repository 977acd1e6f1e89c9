// The number of OpenMP threads, for a while.
#pragma once

#include <omp.h>

#include "tests/support/sanitized.h"

namespace plimsoll {

// `count`, but one under ThreadSanitizer, which does not see libgomp's barriers and would report
// every parallel region.
inline int tested_threads(int count) { return kThreadSanitized ? 1 : count; }

// Parallel regions use tested_threads(count) threads until the end of the scope.
class Threads {
 public:
  explicit Threads(int count) : before_(omp_get_max_threads()) {
    omp_set_num_threads(tested_threads(count));
  }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;
  ~Threads() { omp_set_num_threads(before_); }

 private:
  int before_;
};

}  // namespace plimsoll
