// What happens in a run, in the order it happens.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace plimsoll::v1 {

// Numbers of an epoch so far: means over its samples.
struct Progress {
  std::int64_t epoch = 0, epochs = 0;   // epoch counts from 1
  std::int64_t batch = 0, batches = 0;  // done of this epoch's training or validation, and in all
  std::int64_t step = 0;                // of the whole run
  double loss = 0;
  std::vector<std::pair<std::string, double>> metrics;  // "accuracy": 0.71
  double learning_rate = 0;
  double images_per_second = 0;
  double seconds_left = 0;  // of this epoch's training or validation
};

struct StepDone {
  Progress progress;
};
struct BatchValidated {
  Progress progress;
};
struct EpochDone {
  Progress training;
  std::optional<Progress> validation;
};
struct CheckpointWritten {
  std::string path;
  std::int64_t step = 0;
};
// Something for people to read; it is in the run's log.txt too.
struct Message {
  std::string text;
};
// The last one.
struct Finished {
  std::int64_t steps = 0, epochs = 0;
  double loss = 0;
  // "epochs", "steps" and "early stop": all that was asked for is done; "interrupt": stop();
  // "not finite", "diverged", "plateau": by the watchdog.
  std::string stopped_by;
  std::int64_t predicted_bytes = 0, measured_peak_bytes = 0;
};

using Event =
    std::variant<StepDone, BatchValidated, EpochDone, CheckpointWritten, Message, Finished>;

}  // namespace plimsoll::v1
