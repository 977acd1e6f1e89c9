// Training of the small networks by a plan's fates, to hold what memory must not change.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "base/random.h"
#include "step/budget.h"
#include "tests/support/residents.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/zoo_trainer.h"

namespace plimsoll {

inline constexpr std::int64_t kBatch = 12;

struct Training {
  std::string network = "inception_mini";
  OptimizerOptions optimizer = {};
  std::int64_t accumulate = 1;
  std::int64_t steps = 20;
};

inline Trainer make_trainer(const Training& run) {
  return zoo_trainer(run.network, kBatch,
                     {.accumulate = run.accumulate, .optimizer = run.optimizer}, 0.3);
}

inline void fill(const TensorView& image, const TensorView& label, std::int64_t step,
                 std::int64_t first) {
  const std::int64_t pixels = image.spec.image_elements();
  for (std::int64_t n = 0; n < image.spec.shape[0]; ++n) {
    const auto sample = static_cast<std::uint64_t>(step * kBatch + first + n);
    for (std::int64_t i = 0; i < pixels; ++i)
      image.image<float>(n)[i] =
          static_cast<float>(signed_unit(sample, static_cast<std::uint64_t>(i)));
    label.at<std::int32_t>(n) = static_cast<std::int32_t>(sample % 10);
  }
}

// The fates are those of a trainer of the same run.
inline void plan_by(Trainer& trainer, const Fates& fates) {
  trainer.plan(name_fates(trainer.tapes().problem(0), fates));
}

// Weights and state after training by `fates`; the losses go to `losses`.
inline std::vector<std::byte> train(const Training& run, const Fates& fates,
                                    std::vector<double>* losses = nullptr) {
  Trainer trainer = make_trainer(run);
  const TemporaryFolder folder;
  plan_by(trainer, fates);
  trainer.open(folder.path());
  for (std::int64_t step = 0; step < run.steps; ++step) {
    const StepResult result =
        trainer.train_batch(kBatch, 0.01F, step, step * kBatch,
                            [&](const StepTensors& inputs, std::int64_t first, std::int64_t) {
                              fill(inputs.at("image"), inputs.at("label"), step, first);
                            });
    if (losses != nullptr) losses->push_back(result.loss);
  }
  return residents(trainer);
}

inline Frontier frontier_of(const Training& run, const Means& means = {}) {
  Trainer trainer = make_trainer(run);
  return find_frontier(trainer.tapes().problem(0), means);
}

// Trains at the ends of the frontier and at `budgets` - 1 points between; all must agree to the
// bit.
inline void expect_same_bits(const Training& run, std::size_t budgets) {
  const Frontier frontier = frontier_of(run);
  const std::vector<std::byte> expected = train(run, frontier.points.front().fates);
  for (std::size_t i = 1; i <= budgets; ++i) {
    const PlanPoint& point = frontier.points[(frontier.points.size() - 1) * i / budgets];
    EXPECT_TRUE(train(run, point.fates) == expected)
        << run.network << ' ' << run.optimizer.name << " at " << point.bytes << " bytes";
  }
}

}  // namespace plimsoll
