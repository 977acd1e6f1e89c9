// Steps of one network: training and evaluation, whole and partial batches, over one arena.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "exec/session.h"
#include "train/step_graph.h"
#include "train/weights.h"

namespace plimsoll {

struct TrainerOptions {
  nn::Input input;                             // batch is the largest a step takes
  std::vector<std::int64_t> train_batches;     // sizes of the batches that will be trained on
  std::vector<std::int64_t> evaluate_batches;  // and evaluated; may be empty
  LossOptions loss;
  OptimizerOptions optimizer;
  std::uint64_t seed = 0;
  bool keep_all = false;  // see TapeRequest
  Fusion fusion = Fusion::full;
  KernelChoice kernels = KernelChoice::best;
};

enum class Phase : std::uint8_t { train, evaluate };

struct StepResult {
  double loss = 0;           // mean over the batch, regularisation not counted
  std::int64_t correct = 0;  // samples whose label scored highest
  std::int64_t in_five = 0;  // or among the five highest
  double gradient_norm = 0;  // training only; not finite: nothing was updated
};

// Plans when constructed, allocates in open(), then only computes. Fill image() and label() of the
// phase and batch size, then call the step. Not thread-safe.
class Trainer {
 public:
  Trainer(const OpTable& ops, const NetworkFactory& network, const TrainerOptions& options);

  // Maps memory and gives weights their starting values.
  void open();

  TensorView image(Phase phase, std::int64_t batch) const {
    return session_.view(tape_of(phase, batch), "image");
  }
  TensorView label(Phase phase, std::int64_t batch) const {
    return session_.view(tape_of(phase, batch), "label");
  }
  TensorView logits(Phase phase, std::int64_t batch) const {
    return session_.view(tape_of(phase, batch), "logits");
  }

  // `step` counts updates done before, `sample` samples trained before: they key randomness.
  StepResult train_step(std::int64_t batch, float lr, std::int64_t step,
                        std::int64_t sample) noexcept;
  StepResult evaluate_step(std::int64_t batch) noexcept;

  const Session& session() const { return session_; }
  Session& session() { return session_; }
  // The training graph of the first batch size.
  const StepGraph& step_graph() const { return step_; }
  std::size_t tape_of(Phase phase, std::int64_t batch) const;

 private:
  struct TapeKey {
    Phase phase;
    std::int64_t batch;
  };
  StepResult read_result(std::size_t tape) const noexcept;

  std::vector<TapeKey> keys_;
  StepGraph step_;  // its tape has moved to the session
  Session session_;
  std::uint64_t seed_;
};

}  // namespace plimsoll
