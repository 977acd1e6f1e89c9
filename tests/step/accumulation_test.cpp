// A batch in parts changes what lasts with its last part, and only if all of them were good.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "tensor/convert.h"
#include "tests/support/mini_training.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kAccumulatedParts = 3;

Trainer open_trainer() {
  Trainer trainer = make_trainer({.accumulate = kAccumulatedParts});
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

std::vector<std::byte> weights_and_slots(const Trainer& trainer) {
  std::vector<std::byte> bytes;
  for (auto* tensors : {&weight_tensors, &slot_tensors})
    for (const NamedTensor& tensor : tensors(trainer.session(), trainer.step_graph()))
      bytes.insert(bytes.end(), tensor.view.data, tensor.view.data + tensor.view.spec.bytes());
  return bytes;
}

TEST(Accumulation, ABadPartLeavesWeightsAndStatisticsAsTheyWere) {
  Trainer trainer = open_trainer();
  step(trainer, 0);
  const std::vector<std::byte> before = weights_and_slots(trainer);
  for (std::int64_t bad = 0; bad < kAccumulatedParts; ++bad) {
    const StepResult result = step(trainer, 1, [&](const TensorView& image, std::int64_t first) {
      if (first == bad * kBatch / kAccumulatedParts) image.image<float>(0)[0] = std::nanf("");
    });
    EXPECT_FALSE(std::isfinite(result.gradient_norm)) << "part " << bad;
    EXPECT_TRUE(weights_and_slots(trainer) == before) << "part " << bad;
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
  EXPECT_TRUE(weights_and_slots(trainer) == weights_and_slots(other));
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

// The first one's: they see the same pictures, in parts of the same size or at once.
TEST(Accumulation, RunningStatisticsMoveOnceAStepByTheMeanOverParts) {
  Trainer parts = open_trainer();
  Trainer whole = make_trainer({});
  whole.open();
  step(parts, 0);
  step(whole, 0);
  const TensorView a = parts.session().resident("conv1_bn/moving_mean");
  const TensorView b = whole.session().resident("conv1_bn/moving_mean");
  for (std::int64_t c = 0; c < 32; ++c) {
    EXPECT_NE(b.at<float>(c), 0);
    EXPECT_NEAR(a.at<float>(c), b.at<float>(c), 1e-7) << "channel " << c;
  }
}

// Every kind of layer but BatchNorm, whose statistics are those of a part, not of the batch.
nn::Heads network_without_statistics(nn::Builder& net) {
  ValueId x = net.conv2d(net.image(), 16, 3, {.stride = 2, .activation = "relu"});
  x = net.max_pool(net.conv2d(x, 24, 3, {.activation = "relu6"}), 3,
                   {.padding = nn::Padding::same});
  const ValueId wide = net.separable_conv2d(x, 16, 3, {.activation = "swish"});
  const ValueId narrow =
      net.conv2d(net.average_pool(x, 3, {.stride = 1, .padding = nn::Padding::same}), 8, 1,
                 {.activation = "relu"});
  x = net.scaled_add(x, net.concat({wide, narrow}), 0.3);
  x = net.dropout(net.global_average_pool(x), 0.3);
  return {net.dense(x, 10)};
}

struct FirstStep {
  StepResult result;
  std::vector<std::pair<std::string, std::vector<float>>> gradients;
};

// With momentum and a learning rate of 1, the first step leaves -gradient in the slot, exactly.
FirstStep first_step(std::int64_t batch, std::int64_t parts) {
  Trainer trainer(op_table(), network_without_statistics,
                  {.input = {.batch = batch, .image = 16},
                   .train_batches = {batch},
                   .accumulate = parts,
                   .l2 = 0.01,
                   .optimizer = {.momentum = 0.9}});
  trainer.open();
  FirstStep step{
      .result = trainer.train_batch(
          batch, 1, 0, 0, [](const StepTensors& inputs, std::int64_t first, std::int64_t) {
            fill(inputs.at("image"), inputs.at("label"), 0, first);
          })};
  for (const NamedTensor& slot : slot_tensors(trainer.session(), trainer.step_graph())) {
    std::vector<float> values(static_cast<std::size_t>(slot.view.spec.shape.elements()));
    read_elements(slot.view, 0, values);
    step.gradients.emplace_back(slot.name, std::move(values));
  }
  return step;
}

// Forward is the same for a sample in any part, and so is every term of a gradient; what differs
// is the order of the sums and a rounding per part, which of n terms leave about sqrt(n) 2^-24:
// 1.6e-6 for the largest n here, 11 samples of 64 positions. The limit is three times that. A part
// that is missing, doubled, given another's dropout or a wrong share of the batch or of the
// penalty is off by whole percents.
TEST(Accumulation, PartsOfABatchSumToItsGradient) {
  constexpr std::int64_t kSamples = 11;
  const FirstStep whole = first_step(kSamples, 1);
  ASSERT_EQ(whole.gradients.size(), 11U);
  for (std::int64_t parts : {2, 3, 11}) {
    SCOPED_TRACE(std::to_string(parts) + " parts");
    const FirstStep sum = first_step(kSamples, parts);
    EXPECT_NEAR(sum.result.loss, whole.result.loss, 1e-6 * whole.result.loss);
    EXPECT_NEAR(sum.result.gradient_norm, whole.result.gradient_norm,
                5e-6 * whole.result.gradient_norm);
    ASSERT_EQ(sum.gradients.size(), whole.gradients.size());
    for (std::size_t t = 0; t < sum.gradients.size(); ++t) {
      const auto& [name, expected] = whole.gradients[t];
      const std::vector<float>& got = sum.gradients[t].second;
      ASSERT_EQ(sum.gradients[t].first, name);
      float largest = 0;
      float worst = 0;
      for (std::size_t i = 0; i < expected.size(); ++i) {
        largest = std::max(largest, std::fabs(expected[i]));
        worst = std::max(worst, std::fabs(got[i] - expected[i]));
      }
      EXPECT_GT(largest, 0) << name;
      EXPECT_LE(worst, 5e-6F * largest) << name;
    }
  }
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
