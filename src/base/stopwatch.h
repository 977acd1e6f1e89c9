// Elapsed time.
#pragma once

#include <chrono>

namespace plimsoll {

// Runs from its construction. Monotonic: setting the clock does not disturb it.
class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace plimsoll
