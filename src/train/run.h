// A training run over a pipeline of pictures: epochs, evaluation, checkpoint, records.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "data/pipeline.h"
#include "train/schedule.h"
#include "train/trainer.h"

namespace plimsoll {

struct RunOptions {
  std::string model;  // for the records
  std::int64_t epochs = 1;
  std::int64_t steps = 0;  // stop after this many; 0: no limit
  std::int64_t batch = 32;
  bool drop_last = false;  // leave out the partial last batch of an epoch
  double lr = 0.01;        // the schedule's peak
  ScheduleOptions schedule;
  std::uint64_t seed = 0;
  std::filesystem::path out;  // run directory; exists
  std::int64_t budget_bytes = kUnlimited.count;
  std::int64_t predicted_bytes = 0;
};

// What happens in a run, as it happens. Calls come from the thread that runs it.
struct Progress {
  Phase phase = Phase::train;
  std::int64_t epoch = 0, epochs = 0;   // epoch counts from 1
  std::int64_t batch = 0, batches = 0;  // done in this phase, and in all
  double loss = 0, accuracy = 0;        // mean so far
  double images_per_second = 0;
  double seconds_left = 0;  // of the phase's epoch
  double data_wait_percent = 0;
};

class RunObserver {
 public:
  virtual ~RunObserver() = default;
  virtual void on_progress(const Progress&) = 0;
  virtual void on_epoch_end(const Progress& train, const std::optional<Progress>& validation) = 0;
  virtual void on_saved(const std::filesystem::path& checkpoint) = 0;
};

struct RunReport {
  std::string model;
  std::int64_t steps = 0, epochs = 0, images = 0;
  double seconds = 0;
  double images_per_second = 0;  // of training proper: no evaluation, no saving
  double data_wait_percent = 0;
  double loss = 0, accuracy = 0;
  std::optional<double> val_loss, val_accuracy;
  std::int64_t budget_bytes = 0, predicted_bytes = 0;
  std::int64_t measured_peak_bytes = 0;
  std::optional<std::int64_t> cgroup_peak_bytes;  // where the process is alone in its group
  std::int64_t arena_bytes = 0;
  std::string stopped_by;  // "epochs", "steps", "interrupt", "not finite"
};

// Where a run's batches come from. The pipelines make batches of the trainer's sizes and of its
// image size.
struct RunData {
  Pipeline& train;                 // repeats
  Pipeline* validation = nullptr;  // in order, does not repeat; null: no evaluation
  std::int64_t train_samples = 0;
  std::int64_t validation_samples = 0;
  Normalisation normalisation;
};

// Trains, evaluates after every epoch where there is validation data, and writes
// weights/last.safetensors, results.csv and report.json into options.out. `interrupt` is looked at
// after every step: when it is set, the step is finished and the checkpoint written. The trainer is
// open and planned for the batch sizes batch_sizes() names. Throws DataError when a file cannot be
// written, and when data goes bad: then after the checkpoint of the last good step was written.
RunReport run_training(Trainer& trainer, const RunData& data, const RunOptions& options,
                       RunObserver& observer, const std::atomic<int>& interrupt);

// The sizes of the batches that `samples` fall into: the whole one and, unless dropped, the rest.
std::vector<std::int64_t> batch_sizes(std::int64_t samples, std::int64_t batch, bool drop_last);

}  // namespace plimsoll
