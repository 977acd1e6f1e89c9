// What happens in a run.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "run/stop_reason.h"
#include "step/evaluation.h"
#include "step/trainer.h"

namespace plimsoll {

struct Progress {
  Purpose purpose = Purpose::train;
  std::int64_t epoch = 0, epochs = 0;   // epoch counts from 1
  std::int64_t batch = 0, batches = 0;  // done in this phase, and in all
  std::int64_t step = 0;                // of the whole run
  double loss = 0;                      // mean so far
  MetricValues metrics = {};            // of the task, means so far
  double lr = 0;
  double images_per_second = 0;
  double seconds_left = 0;  // of the phase's epoch
  double data_wait_percent = 0;
  std::string trouble;  // something to be seen at once: "not saved since step 120: disk full"
};

// One rank of a run.
struct RankReport {
  struct Numbers {
    std::int64_t threads = 0;
    std::int64_t predicted_bytes = 0;
    std::int64_t measured_peak_bytes = 0;
    double wait_data_seconds = 0;
    double wait_others_seconds = 0;
    std::int64_t exchange_bytes = 0;  // sent and received
  };
  std::string host;
  Numbers numbers;
};

struct RunReport {
  std::string model;
  std::int64_t steps = 0, epochs = 0, images = 0;
  double seconds = 0;            // of this process
  double images_per_second = 0;  // of training proper: no evaluation
  double step_seconds = 0;       // inside steps
  double wait_seconds = 0;       // waiting for data
  double data_wait_percent = 0;
  double loss = 0;
  MetricValues metrics = {};
  std::optional<Evaluation> validation;
  std::int64_t budget_bytes = 0, predicted_bytes = 0;
  std::int64_t measured_peak_bytes = 0;
  std::optional<std::int64_t> cgroup_peak_bytes;  // where the process is alone in its group
  std::int64_t arena_bytes = 0;
  StopReason stopped_by = StopReason::epochs;
  std::vector<RankReport> ranks;  // none: one process
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
  std::filesystem::path path;
  std::int64_t step = 0;
};
// Something to be read; it is in log.txt too.
struct Message {
  std::string text;
};
struct Finished {
  RunReport report;
};

using RunEvent =
    std::variant<StepDone, BatchValidated, EpochDone, CheckpointWritten, Message, Finished>;

}  // namespace plimsoll
