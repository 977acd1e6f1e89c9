// The number of OpenMP threads, for a while.
#pragma once

#include <omp.h>

namespace plimsoll {

// Parallel regions use `count` threads until the end of the scope; one under ThreadSanitizer, which
// does not see libgomp's barriers and would report every region.
class Threads {
 public:
  explicit Threads(int count) : before_(omp_get_max_threads()) {
#ifdef __SANITIZE_THREAD__
    count = 1;
#endif
    omp_set_num_threads(count);
  }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;
  ~Threads() { omp_set_num_threads(before_); }

 private:
  int before_;
};

}  // namespace plimsoll
