// A network of the zoo, planned and ready to train on made-up pictures, for programs that measure.
#pragma once

#include "base/cache_directory.h"
#include "exec/jobs.h"
#include "exec/kernel_times.h"
#include "ops/table.h"
#include "step/budget.h"
#include "step/synthetic_batch.h"
#include "task/detection.h"
#include "zoo/zoo.h"

namespace plimsoll {

// A batch of pictures as a user would train them on this machine.
inline nn::Input input_of(const zoo::Network& network, std::int64_t batch, std::int64_t image,
                          DType dtype = DType::f32) {
  return {.batch = batch,
          .channels = network.channels,
          .image = image,
          .dtype = dtype,
          .lanes = lanes_of(this_process().isa)};
}

class PlannedTrainer {
 public:
  // Within `bytes` of memory, by `means`. OpenMP's team already has `threads`. With a group, its
  // ranks share the batch, a part each.
  PlannedTrainer(const zoo::Network& network, const nn::Input& input, int threads,
                 std::int64_t bytes, Means means, dist::Group* group = nullptr)
      : batch_(input.batch),
        trainer_(op_table(),
                 [&](nn::Builder& net) { return network.build(net, {.classes = network.classes}); },
                 {.input = input,
                  .train_batches = {input.batch},
                  .accumulate = group == nullptr ? 1 : group->ranks(),
                  .place = dist::place_in(group),
                  .evaluate_batches = {},
                  .task = task_of(network),
                  .optimizer = {}}) {
    trainer_.tapes().set_times(KernelTimes::load(cache_directory(), threads));
    plan_ = plan_within(trainer_, {.bytes = bytes,
                                   .means = means,
                                   .around = {.input_bytes = 0, .threads = threads},
                                   .cache = cache_directory()});
    trainer_.open();
  }

  const RunPlan& plan() const { return plan_; }
  Session& session() { return trainer_.session(); }
  const Session& session() const { return trainer_.session(); }

  void fill() { fill_synthetic_batch(trainer_, batch_); }
  void train(std::int64_t step) {
    trainer_.train_batch(batch_, 1e-3F, step, step * batch_,
                         [&](const StepTensors& inputs, std::int64_t, std::int64_t count) {
                           fill_synthetic_part(trainer_, inputs, count);
                         });
  }

 private:
  // What `plimsoll bench` would train it for: of detectors, on eight boxes a picture.
  static TaskPtr task_of(const zoo::Network& network) {
    if (network.anchor_base == 0) return make_classification({});
    return make_detection(
        {.classes = network.classes, .anchor_base = network.anchor_base, .most_boxes = 8});
  }

  std::int64_t batch_;
  Trainer trainer_;
  RunPlan plan_;
};

}  // namespace plimsoll
