// A batch in parts changes what lasts with its last part, and only if all of them were good.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "tests/support/mini_training.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kParts = 3;

Trainer open_trainer() {
  Trainer trainer = make_trainer({.accumulate = kParts});
  trainer.open();
  return trainer;
}

using Spoil = std::function<void(const TensorView& image, std::int64_t first)>;

StepResult step(Trainer& trainer, std::int64_t number, const Spoil& spoil = {}) {
  return trainer.train_batch(kBatch, 0.01F, number, number * kBatch,
                             [&](const StepTensors& inputs, std::int64_t first, std::int64_t) {
                               fill(inputs.at("image"), inputs.at("label"), number, first);
                               if (spoil) spoil(inputs.at("image"), first);
                             });
}

std::vector<std::byte> lasting(const Trainer& trainer) {
  std::vector<std::byte> bytes;
  for (auto* tensors : {&weight_tensors, &slot_tensors})
    for (const NamedTensor& tensor : tensors(trainer.session(), trainer.step_graph()))
      bytes.insert(bytes.end(), tensor.view.data, tensor.view.data + tensor.view.spec.bytes());
  return bytes;
}

TEST(Accumulation, ABadPartLeavesWeightsAndStatisticsAsTheyWere) {
  Trainer trainer = open_trainer();
  step(trainer, 0);
  const std::vector<std::byte> before = lasting(trainer);
  for (std::int64_t bad = 0; bad < kParts; ++bad) {
    const StepResult result = step(trainer, 1, [&](const TensorView& image, std::int64_t first) {
      if (first == bad * kBatch / kParts) image.image<float>(0)[0] = std::nanf("");
    });
    EXPECT_FALSE(std::isfinite(result.gradient_norm)) << "part " << bad;
    EXPECT_TRUE(lasting(trainer) == before) << "part " << bad;
  }
}

TEST(Accumulation, AStepAfterABadOneIsAsIfItHadNotBeen) {
  Trainer trainer = open_trainer();
  Trainer other = open_trainer();
  step(trainer, 0, [](const TensorView& image, std::int64_t first) {
    if (first > 0) image.image<float>(0)[0] = std::numeric_limits<float>::infinity();
  });
  step(trainer, 1);
  step(other, 1);
  EXPECT_TRUE(lasting(trainer) == lasting(other));
}

TEST(Accumulation, EveryPartMovesTheRunningStatistics) {
  Trainer trainer = open_trainer();
  Trainer other = open_trainer();
  step(trainer, 0);
  // Another first part, the same rest.
  step(other, 0, [](const TensorView& image, std::int64_t first) {
    if (first == 0) image.image<float>(0)[0] += 1;
  });
  const TensorView a = trainer.session().resident("conv1_bn/moving_mean");
  const TensorView b = other.session().resident("conv1_bn/moving_mean");
  EXPECT_NE(std::vector<float>(a.as<float>(), a.as<float>() + 32),
            std::vector<float>(b.as<float>(), b.as<float>() + 32));
}

TEST(Seed, ReachesDropoutAndNotOnlyTheFirstWeights) {
  const auto first_loss = [](std::uint64_t seed, double dropout) {
    Trainer trainer = zoo_trainer("inception_mini", kBatch, {.seed = seed}, dropout);
    trainer.open();
    initialise(trainer.session(), trainer.step_graph(), 0);
    return step(trainer, 0).loss;
  };
  EXPECT_EQ(first_loss(0, 0), first_loss(1, 0));
  EXPECT_EQ(first_loss(1, 0.5), first_loss(1, 0.5));
  EXPECT_NE(first_loss(0, 0.5), first_loss(1, 0.5));
}

}  // namespace
}  // namespace plimsoll
