// What this process's threads get of the processors.
#pragma once

#include <optional>

namespace plimsoll {

// Seconds over all threads that are alive.
struct ProcessorTime {
  double running = 0;
  double waiting = 0;  // ready to run while others had the processor

  ProcessorTime operator-(const ProcessorTime& before) const {
    return {running - before.running, waiting - before.waiting};
  }
  // 1: whoever wanted to run did; 0.5: half of the time went to others.
  double share() const { return running > 0 ? running / (running + waiting) : 1; }
};

// Nothing where the kernel does not tell.
std::optional<ProcessorTime> processor_time();

// When to call a process crowded: at once when its threads wait, and no longer only after a while
// in which they do not.
class CrowdJudge {
 public:
  // What the threads got in the last interval, a fraction of a second.
  void add(const ProcessorTime& got);
  bool is_crowded() const { return is_crowded_; }

 private:
  bool is_crowded_ = false;
  int calm_ = 0;  // intervals on end
};

}  // namespace plimsoll
