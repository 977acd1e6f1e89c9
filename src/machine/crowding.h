// Beside other work on the same processors, OpenMP's waiting threads must sleep, not spin: a thread
// that spins takes the very time that the one it waits for is short of. Alone they should spin,
// which is faster. So both, by what the kernel says of our threads.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/processor_time.h"

namespace plimsoll {

// Looks several times a second as long as it lives. `threads`: the size of the team.
class CrowdMonitor {
 public:
  explicit CrowdMonitor(int threads);
  CrowdMonitor(const CrowdMonitor&) = delete;
  CrowdMonitor& operator=(const CrowdMonitor&) = delete;
  ~CrowdMonitor();

  // "2 threads share 1.0 cores, other work has the rest", or empty. From any thread.
  std::string text() const;

 private:
  void watch();

  int threads_;
  std::atomic<bool> is_crowded_ = false;
  std::atomic<double> share_ = 1;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  std::thread thread_;  // last: it uses all of the above
};

// How many of `threads` processors this process would get now, by keeping them busy for a moment;
// nothing where the kernel does not tell.
std::optional<double> measure_cores(int threads);

}  // namespace plimsoll
