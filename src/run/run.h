// A training run over a pipeline of pictures: epochs, evaluation, checkpoints, records.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "data/batch/pipeline.h"
#include "run/checkpoint.h"
#include "run/rate_schedule.h"
#include "run/saver.h"
#include "run/watchdog.h"
#include "step/evaluation.h"
#include "step/ledger.h"
#include "step/trainer.h"

namespace plimsoll {

// Which of validation's numbers says that an epoch was better.
enum class Monitor : std::uint8_t { loss, accuracy };

struct RunOptions {
  std::string model;  // for the records
  std::string data;
  std::int64_t epochs = 1;
  std::int64_t pause_after = 0;  // epochs; the run goes on in another call; 0: no pause
  std::int64_t steps = 0;        // stop after this many; 0: no limit
  std::int64_t batch = 32;
  bool drop_last = false;  // leave out the partial last batch of an epoch
  double lr = 0.01;        // the schedule's peak
  ScheduleOptions schedule;
  Monitor monitor = Monitor::loss;
  std::int64_t early_stop = 0;       // epochs without a better one; 0: never
  std::vector<float> class_weights;  // by class; empty: all 1
  SaveOptions save;
  WatchdogOptions watchdog;
  bool histograms = false;    // of the weights, for TensorBoard
  std::filesystem::path out;  // run directory; exists
  RunIdentity identity;
  std::vector<std::string> class_names;  // one for every label of the data
  std::int64_t budget_bytes = kUnlimited.count;
  std::int64_t predicted_bytes = 0;
  Ledger ledger;
  // In words, what keeps the process's threads from the processors; empty: nothing. Called from the
  // thread of the run and from the one beside it.
  std::function<std::string()> crowding = [] { return std::string(); };

  // Of so many, those an epoch trains on.
  std::int64_t samples_per_epoch(std::int64_t train_samples) const;
  // Of a run that is not stopped early.
  std::int64_t steps_in_all(std::int64_t steps_per_epoch) const;
  // Of what is predicted, what the process itself holds: files that are memory are in its
  // container's count already.
  std::int64_t resident_bytes() const;
};

// What happens in a run, as it happens. Calls come from the thread that runs it.
struct Progress {
  Purpose purpose = Purpose::train;
  std::int64_t epoch = 0, epochs = 0;   // epoch counts from 1
  std::int64_t batch = 0, batches = 0;  // done in this phase, and in all
  std::int64_t step = 0;                // of the whole run
  double loss = 0, accuracy = 0;        // mean so far
  double top5 = 0;                      // share of samples whose label is among the first five
  double lr = 0;
  double images_per_second = 0;
  double seconds_left = 0;  // of the phase's epoch
  double data_wait_percent = 0;
  std::string trouble;  // something to be seen at once: "not saved since step 120: disk full"
};

class RunObserver {
 public:
  virtual ~RunObserver() = default;
  virtual void on_progress(const Progress&) = 0;
  virtual void on_epoch_end(const Progress& train, const std::optional<Progress>& validation) = 0;
  // Something to be read: it is in log.txt too. May come from another thread.
  virtual void on_message(const std::string& text) = 0;
};

inline constexpr const char* kPause = "pause";

struct RunReport {
  std::string model;
  std::int64_t steps = 0, epochs = 0, images = 0;
  double seconds = 0;            // of this process
  double images_per_second = 0;  // of training proper: no evaluation
  double step_seconds = 0;       // inside steps
  double wait_seconds = 0;       // waiting for data
  double data_wait_percent = 0;
  double loss = 0, accuracy = 0;
  std::optional<double> val_loss, val_accuracy, val_top5;
  std::int64_t budget_bytes = 0, predicted_bytes = 0;
  std::int64_t measured_peak_bytes = 0;
  std::optional<std::int64_t> cgroup_peak_bytes;  // where the process is alone in its group
  std::int64_t arena_bytes = 0;
  // "epochs", "steps", "interrupt", "early stop", "not finite", "diverged", "plateau"; kPause: it
  // has not stopped
  std::string stopped_by;
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

// Trains from `from` on (its tensors are in the trainer), evaluates after every epoch where there
// is validation data, and leaves checkpoints and records in options.out. `interrupt` is looked at
// after every step: when it is set, the step is finished and the checkpoint written. The trainer is
// open and planned for the batch sizes batch_sizes() names. Records that cannot be written are told
// of and left; DataError when the last checkpoint cannot be written, and when data goes bad: then
// after the checkpoint of the last good step was written.
RunReport run_training(Trainer& trainer, const RunData& data, const RunOptions& options,
                       const RunState& from, RunObserver& observer,
                       const std::atomic<int>& interrupt);

}  // namespace plimsoll
