// The learning rate as a function of the step.
#pragma once

#include <cstdint>
#include <string>

namespace plimsoll {

struct ScheduleOptions {
  std::string name = "constant";  // or cosine
  std::int64_t warmup = 0;        // steps over which the rate climbs from 0
};

// Immutable: the rate of a step depends on the step alone, so a resumed run goes on as it would
// have.
class Schedule {
 public:
  // `peak` is the rate after warm-up, `steps` the length of the run. UsageError for an unknown
  // name.
  Schedule(const ScheduleOptions& options, double peak, std::int64_t steps);

  // The rate of the step that comes after `step` others.
  double rate(std::int64_t step) const;

 private:
  bool cosine_;
  double peak_;
  std::int64_t warmup_;
  std::int64_t steps_;
};

}  // namespace plimsoll
