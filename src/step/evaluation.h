// Batches of pictures through a network: how they get in, and what an evaluation makes of them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "data/batch/pipeline.h"
#include "step/metrics.h"
#include "step/trainer.h"

namespace plimsoll {

// The sizes of the batches that `samples` fall into: the whole one and, unless dropped, the rest.
std::vector<std::int64_t> batch_sizes(std::int64_t samples, std::int64_t batch, bool drop_last);

// Puts pictures [first, first + count) of a batch into the tensors of a step; `class_weights` may
// be empty.
void fill_inputs(const Batch& batch, const Normalisation& how, std::span<const float> class_weights,
                 const StepInputs& inputs, std::int64_t first, std::int64_t count);

// What one pass over validation data shows.
struct Evaluation {
  double loss = 0, accuracy = 0, top5 = 0;
  std::int64_t samples = 0;
};
// Evaluates every sample once. `each` is called after every batch with what was counted so far and
// says whether to go on; nothing is returned if it did not. `counts` may be null.
std::optional<Evaluation> evaluate(
    Trainer& trainer, Pipeline& data, const Normalisation& how, ClassCounts* counts,
    const std::function<bool(const Evaluation& so_far, double waited)>& each);

}  // namespace plimsoll
