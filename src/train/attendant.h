// A thread beside the run that looks on: is there still progress, has the container's limit
// changed, and what is the state for others to read.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/limits.h"

namespace plimsoll {

// Calls come from the attendant's thread, one at a time, and must not throw.
struct AttendantCalls {
  std::function<void()> every_second = {};
  // No beat for three usual steps and some seconds; once per stall. The text tells how long and
  // what every thread of the process is waiting for.
  std::function<void(const std::string& text)> stalled = {};
  // A limit was lowered below what the process will need: `text` says which and to what. Once until
  // there is enough again.
  std::function<void(const std::string& text)> squeezed = {};
};

class Attendant {
 public:
  // `needed_bytes`: what the run will hold at most; 0: not watched.
  Attendant(AttendantCalls calls, std::int64_t needed_bytes);
  ~Attendant();
  Attendant(const Attendant&) = delete;
  Attendant& operator=(const Attendant&) = delete;

  // The run is alive. `step_seconds`: what the last piece of work took; 0: do not learn from it.
  void beat(double step_seconds) noexcept;

 private:
  void attend();
  void look_for_stall(double slept_too_long);
  void look_at_limit();

  AttendantCalls calls_;
  std::int64_t needed_bytes_;
  std::vector<MemoryLimit> limits_;  // when it began
  std::atomic<double> usual_seconds_ = 0;
  std::atomic<std::chrono::steady_clock::time_point> last_beat_;
  std::atomic<std::uint64_t> beats_ = 0;
  std::uint64_t reported_beat_ = ~std::uint64_t{0};
  bool is_squeezed_ = false;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  std::thread thread_;  // last: it uses all of the above
};

// What each thread of this process waits for, a line each: name, state, kernel function.
std::string thread_states();

}  // namespace plimsoll
