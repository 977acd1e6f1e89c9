// Batches of pictures through a network: how they get in, and what an evaluation makes of them.
#pragma once

#include <cstdint>
#include <vector>

#include "data/batch/pipeline.h"
#include "step/trainer.h"

namespace plimsoll {

// The sizes of the batches that `samples` fall into: the whole one and, unless dropped, the rest.
std::vector<std::int64_t> batch_sizes(std::int64_t samples, std::int64_t batch, bool drop_last);

// Puts pictures [first, first + count) of a batch, with what the task makes of them, into the
// tensors of a step.
void fill_inputs(const Batch& batch, const Normalisation& how, const Task& task,
                 const StepTensors& inputs, std::int64_t first, std::int64_t count);

// What one pass over validation data shows.
struct Evaluation {
  double loss = 0;
  MetricValues metrics = {};  // means; those that are none are there at the end
  std::int64_t samples = 0;
};

// One pass over data that does not repeat, batch by batch.
class Evaluator {
 public:
  // Sees every batch after its step.
  using Look = std::function<void(const StepTensors& results, const Batch& batch)>;
  // Starts the pipeline. `tally` may be null; all must outlive this.
  Evaluator(Trainer& trainer, Pipeline& data, const Normalisation& how, Tally* tally,
            Look look = {});

  // Evaluates the next batch; false if there is none, and then the tally is finished.
  bool next();
  const Evaluation& so_far() const { return so_far_; }
  double waited_seconds() const { return waited_; }

 private:
  Trainer& trainer_;
  Pipeline& data_;
  Normalisation how_;
  Tally* tally_;
  Look look_;
  Evaluation so_far_;
  double loss_sum_ = 0;
  MetricValues sums_ = {};
  double waited_ = 0;
};

}  // namespace plimsoll
