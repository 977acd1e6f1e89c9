// Batches of pictures through a network: how they get in, and what an evaluation makes of them.
#pragma once

#include <cstdint>
#include <vector>

#include "data/batch/pipeline.h"
#include "dist/group.h"
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
  // With a group, every rank evaluates the batches that dealt_batches() leaves it, and sees of
  // all of them the same numbers, added in order: those of one rank.
  Evaluator(Trainer& trainer, Pipeline& data, const Normalisation& how, Tally* tally,
            Look look = {}, dist::Group* group = nullptr);

  // Evaluates the next batch, or with a group the next one of every rank; false if there is none,
  // and then the tally is finished. `asks` of any rank is told to all: see is_asked().
  bool next(bool asks = false);
  // Some rank asked in the last next().
  bool is_asked() const { return is_asked_; }
  // Batches done.
  std::int64_t batches() const { return batches_; }
  const Evaluation& so_far() const { return so_far_; }
  double waited_seconds() const { return waited_; }

 private:
  // What a batch comes to.
  struct Outcome {
    std::int64_t count = 0;
    double loss = 0;
    MetricValues sums = {};
  };

  std::optional<Batch> next_batch();
  Outcome evaluate(const Batch& batch);
  void add(const Outcome& outcome);
  bool next_of_all(bool asks);

  Trainer& trainer_;
  Pipeline& data_;
  Normalisation how_;
  Tally* tally_;
  Look look_;
  Evaluation so_far_;
  double loss_sum_ = 0;
  MetricValues sums_ = {};
  double waited_ = 0;
  dist::Group* group_;
  std::int64_t batches_ = 0;
  bool is_asked_ = false;
};

// Deals the batches of an evaluation round: batch j is rank j mod N's.
WindowOfBatch dealt_batches(int rank, int ranks, std::int64_t batch);

}  // namespace plimsoll
