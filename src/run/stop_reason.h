// Why a run came to an end.
#pragma once

#include <cstdint>
#include <string_view>

namespace plimsoll {

enum class StopReason : std::uint8_t {
  epochs,      // all of them are done
  steps,       // as many as were asked for
  interrupt,   // the caller asked for it
  early_stop,  // no better epoch for long enough
  not_finite,  // by the watchdog
  diverged,
  plateau,
  pause,  // a stage is over; the run goes on in another one
};

// As in report.json and status.json: "early stop", "not finite".
constexpr std::string_view to_string(StopReason reason) {
  constexpr std::string_view kNames[] = {"epochs",     "steps",    "interrupt", "early stop",
                                         "not finite", "diverged", "plateau",   "pause"};
  return kNames[static_cast<std::size_t>(reason)];
}

// It did all that it was asked for.
constexpr bool is_done(StopReason reason) {
  return reason == StopReason::epochs || reason == StopReason::steps ||
         reason == StopReason::early_stop;
}

constexpr bool is_by_watchdog(StopReason reason) {
  return reason == StopReason::not_finite || reason == StopReason::diverged ||
         reason == StopReason::plateau;
}

}  // namespace plimsoll
