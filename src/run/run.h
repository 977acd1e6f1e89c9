// A training run over a pipeline of pictures: epochs, evaluation, checkpoints, records. It is asked
// for what happens next, so whoever asks (a program, another language, one of several processes)
// has the control between any two steps.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "data/batch/pipeline.h"
#include "run/run_event.h"
#include "run/run_options.h"
#include "run/run_state.h"
#include "step/trainer.h"

namespace plimsoll {

// Where a run's batches come from. The pipelines make batches of the trainer's sizes and of its
// image size.
struct RunData {
  Pipeline& train;                 // repeats
  Pipeline* validation = nullptr;  // in order, does not repeat; null: no evaluation
  std::int64_t train_samples = 0;
  std::int64_t validation_samples = 0;
  Normalisation normalisation;
};

class RunLoop;

// Trains, evaluates after every epoch where there is validation data, and leaves checkpoints and
// records in options.out. Not thread-safe.
class Run {
 public:
  // Goes on from `from`, whose tensors are in the trainer. The trainer is open and planned for the
  // batch sizes that batch_sizes() names; it and the data must outlive the run.
  Run(Trainer& trainer, const RunData& data, const RunOptions& options, const RunState& from);
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;
  ~Run();

  // Works until something happened, one step or one batch of validation at the most; nothing after
  // Finished. Records that cannot be written are told of and left. DataError when the last
  // checkpoint cannot be written, and when data goes bad: then after the checkpoint of the last
  // good step was written; after an error there is nothing more.
  std::optional<RunEvent> next();

  // The run writes its checkpoint and finishes instead of the next step.
  void stop();

 private:
  std::unique_ptr<RunLoop> loop_;
};

}  // namespace plimsoll
