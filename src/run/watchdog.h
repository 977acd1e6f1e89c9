// What goes wrong in a run, and what is done about it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "run/run_state.h"
#include "run/stop_reason.h"

namespace plimsoll {

// What is done about an alarm.
enum class Answer : std::uint8_t { warn, stop, rollback };

struct WatchdogOptions {
  bool loss = true;     // watch it for divergence and plateaus; what is not finite always counts
  bool layers = false;  // look into the layers now and then
  Answer on_diverge = Answer::stop;
  Answer on_plateau = Answer::warn;
  Answer on_stall = Answer::warn;
  double rollback_factor = 0.5;  // times the learning rate
  std::int64_t most_rollbacks = 3;
};

// UsageError names the option. Rollback only where it makes sense.
Answer parse_answer(const std::string& text, const char* option, bool may_roll_back);

struct Alarm {
  StopReason cause = StopReason::diverged;
  std::string text;  // for people, with the numbers
};

// Takes note of a finite loss in `state`; an alarm when it has been far above what it was for a
// while, or has not fallen for very long (then once).
std::optional<Alarm> watch_loss(RunState& state, double loss, std::int64_t steps_per_epoch);

}  // namespace plimsoll
