// Memory never changes the numbers: the same weights, to the bit, at every lossless budget.
#include <gtest/gtest.h>

#include <cmath>

#include "base/memory_usage.h"
#include "tests/support/allocation_counter.h"
#include "tests/support/mini_networks.h"
#include "tests/support/mini_training.h"
#include "tests/support/threads.h"

namespace plimsoll {
namespace {

class Network : public testing::TestWithParam<const char*> {};

TEST_P(Network, TrainsToTheSameBitsAtEveryBudget) {
  expect_same_bits({.network = GetParam(), .steps = 6}, 4);
}

TEST_P(Network, TrainsToTheSameBitsWithTwoThreads) {
  const Threads threads(2);
  expect_same_bits({.network = GetParam(), .steps = 3}, 3);
}

TEST_P(Network, TrainsToTheSameBitsWhereOnlySpillingReaches) {
  const Training run{.network = GetParam(), .steps = 6};
  const Frontier kept = frontier_of(run);
  const Frontier spilled = frontier_of(run, {.spill = true});
  EXPECT_TRUE(train(run, spilled.points.back().fates) == train(run, kept.points.front().fates));
}

TEST_P(Network, LearnsAlikeWithA16BitStash) {
  const Training run{.network = GetParam(), .steps = 10};
  Trainer trainer = make_trainer(run);
  const Problem problem = trainer.tapes().problem(0);
  std::vector<double> exact;
  std::vector<double> rounded;
  train(run, problem.all(Fate::keep), &exact);
  train(run, problem.all(Fate::half), &rounded);
  EXPECT_EQ(exact[0], rounded[0]) << "forward is not touched";
  for (std::size_t i = 0; i < exact.size(); ++i) EXPECT_NEAR(rounded[i], exact[i], 0.06 * exact[i]);
}

INSTANTIATE_TEST_SUITE_P(Mini, Network, mini_networks(), network_name);

TEST(Budget, EveryOptimizerTrainsToTheSameBits) {
  for (const char* name : {"rmsprop", "adam", "adamw"})
    expect_same_bits(
        {.optimizer = {.name = name, .momentum = name[0] == 'r' ? 0.9 : 0}, .steps = 4}, 2);
  expect_same_bits({.optimizer = {.nesterov = true, .clip_norm = 0.5}, .steps = 4}, 2);
}

TEST(Budget, AccumulationTrainsToTheSameBitsAndMovesTheWeights) {
  const Training parts{.accumulate = 3, .steps = 4};
  expect_same_bits(parts, 3);
  std::vector<double> losses;
  train(parts, frontier_of(parts).points.back().fates, &losses);
  for (double loss : losses) EXPECT_TRUE(std::isfinite(loss));
}

TEST(Budget, AStepAllocatesNothingAtTheFloor) {
  if (!allocations_are_counted()) GTEST_SKIP() << "a sanitizer owns malloc";
  const Threads threads(2);
  const Training run{.network = "xception_mini"};
  Trainer trainer = make_trainer(run);
  plan_by(trainer, frontier_of(run).points.back().fates);
  trainer.open();
  const auto step = [&](std::int64_t number) {
    fill(trainer.image(Purpose::train, kBatch), trainer.tensors(Purpose::train, kBatch).at("label"),
         number, 0);
    trainer.train_step(kBatch, 0.01F, number, number * kBatch);
  };
  step(0);
  fill(trainer.image(Purpose::train, kBatch), trainer.tensors(Purpose::train, kBatch).at("label"),
       1, 0);
  const std::int64_t before = allocations_so_far();
  trainer.train_step(kBatch, 0.01F, 1, kBatch);
  EXPECT_EQ(allocations_so_far() - before, 0);
}

TEST(Budget, StepTwoAndStepOneThousandHoldTheSameMemory) {
  if (!allocations_are_counted()) GTEST_SKIP() << "a sanitizer holds back what is freed";
  const Training run{.network = "inception_mini"};
  Trainer trainer = make_trainer(run);
  plan_by(trainer, frontier_of(run).points.back().fates);
  trainer.open();
  std::int64_t second = 0;
  for (std::int64_t step = 0; step < 1000; ++step) {
    fill(trainer.image(Purpose::train, kBatch), trainer.tensors(Purpose::train, kBatch).at("label"),
         step, 0);
    trainer.train_step(kBatch, 0.001F, step, step * kBatch);
    if (step == 1) second = memory_usage().resident.count;
  }
  EXPECT_NEAR(static_cast<double>(memory_usage().resident.count), static_cast<double>(second),
              512 * 1024);
}

}  // namespace
}  // namespace plimsoll
