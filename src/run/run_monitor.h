// A thread beside the run that looks on: is there still progress, has the container's limit
// changed, and what is the state for others to read.
#pragma once

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/limits.h"

namespace plimsoll {

// What a run is at. How long one piece of it usually takes is learned for each on its own.
enum class Activity : std::uint8_t { training, validating, saving };
inline constexpr std::size_t kActivities = 3;
std::string_view to_string(Activity activity);

// Calls come from the monitor's thread, one at a time, and must not throw.
struct RunMonitorCalls {
  std::function<void(Activity)> every_second = {};
  // No beat for three usual pieces of work and some seconds; once per stall. The text tells how
  // long and what every thread of the process is waiting for. The run begins nothing else until
  // the call returns: who is told of a stall in training may end the process without cutting a
  // checkpoint short.
  std::function<void(Activity, const std::string& text)> stalled = {};
  // A limit was lowered below what the process will need: `text` says which and to what. Once until
  // there is enough again.
  std::function<void(const std::string& text)> squeezed = {};
};

class RunMonitor {
 public:
  // `needed_bytes`: what the run will hold at most; 0: not watched.
  RunMonitor(RunMonitorCalls calls, std::int64_t needed_bytes);
  ~RunMonitor();
  RunMonitor(const RunMonitor&) = delete;
  RunMonitor& operator=(const RunMonitor&) = delete;

  // The run is alive. `seconds`: what the last piece of work took; 0: do not learn from it.
  void beat(double seconds) noexcept;
  // Whether anybody waits for the run; nobody at first, and then none of it is a stall. The clock
  // begins anew.
  void set_awaited(bool awaited) noexcept;
  // From here on the run is at this; the clock begins anew. Returns what it was at.
  Activity turn_to(Activity activity) noexcept;
  // While it saves: whether it waits for other ranks, not for its disk. Who does not come is a
  // stall as in training. The clock begins anew.
  void set_waiting(bool waiting) noexcept;

 private:
  using Clock = std::chrono::steady_clock;
  // Shared with the run.
  struct Pulse {
    Activity activity = Activity::training;
    bool is_awaited = false;
    bool is_waiting = false;  // for other ranks
    Clock::time_point last_beat;
    std::uint64_t beats = 0;
    std::array<double, kActivities> usual_seconds{};  // 0: not known yet

    Activity now() const {
      return is_waiting && activity == Activity::saving ? Activity::training : activity;
    }
    double& usual() { return usual_seconds[static_cast<std::size_t>(now())]; }
    void begin_anew() {
      last_beat = Clock::now();
      ++beats;
    }
  };

  void attend();
  void look_for_stall(double slept_too_long);
  void look_at_limit();

  RunMonitorCalls calls_;
  std::int64_t needed_bytes_;
  std::vector<MemoryLimit> limits_;  // when it began
  std::mutex pulse_mutex_;
  Pulse pulse_;
  std::uint64_t reported_beat_ = ~std::uint64_t{0};
  bool is_squeezed_ = false;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  std::thread thread_;  // last: it uses all of the above
};

// The run is at `activity` as long as this lives, and then again at what it was at before.
class During {
 public:
  During(RunMonitor& monitor, Activity activity)
      : monitor_(monitor), before_(monitor.turn_to(activity)) {}
  ~During() { monitor_.turn_to(before_); }
  During(const During&) = delete;
  During& operator=(const During&) = delete;

 private:
  RunMonitor& monitor_;
  Activity before_;
};

// The run is awaited as long as this lives.
class Awaited {
 public:
  explicit Awaited(RunMonitor& monitor) : monitor_(monitor) { monitor_.set_awaited(true); }
  ~Awaited() { monitor_.set_awaited(false); }
  Awaited(const Awaited&) = delete;
  Awaited& operator=(const Awaited&) = delete;

 private:
  RunMonitor& monitor_;
};

// What each thread of this process waits for, a line each: name, state, kernel function.
std::string thread_states();

}  // namespace plimsoll
