// `--bn sync`: BatchNorm over all parts of a batch, whoever computes them.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>

#include "tests/support/mini_training.h"
#include "tests/support/rank_allocations.h"

namespace plimsoll {
namespace {

struct SyncRun {
  std::int64_t parts = 4;
  bool syncs = true;
  OptimizerOptions optimizer = {};
  const char* network = "inception_mini";
  std::vector<std::int64_t> batches = {kBatch};  // one a step, over and over
  NamedFates fates = {};
  std::int64_t steps = 3;
  bool shards = false;
};

// What lasts, and the losses of all steps.
struct Outcome {
  std::vector<std::byte> bytes;
  std::vector<double> losses;
  bool operator==(const Outcome&) const = default;
};

Trainer sync_trainer(const SyncRun& run, dist::Group* group) {
  const zoo::Network& network = zoo::find_network(run.network);
  TrainerOptions options{
      .input = {.batch = kBatch, .channels = network.channels, .image = network.image},
      .train_batches = {kBatch},
      .accumulate = run.parts,
      .place = dist::place_in(group),
      .bucket_bytes = std::int64_t{64} << 10,
      .shard_optimizer = run.shards && group != nullptr && group->ranks() > 1,
      .sync_statistics = run.syncs,
      .optimizer = run.optimizer};
  for (const std::int64_t batch : run.batches)
    if (batch != kBatch) options.train_batches.push_back(batch);
  return Trainer(
      op_table(),
      [&](nn::Builder& net) {
        return network.build(net, {.classes = network.classes, .dropout = 0});
      },
      options);
}

Outcome train(const SyncRun& run, dist::Group* group) {
  Trainer trainer = sync_trainer(run, group);
  trainer.plan(run.fates);
  trainer.open();
  Outcome outcome;
  for (std::int64_t step = 0; step < run.steps; ++step)
    outcome.losses.push_back(
        trainer
            .train_batch(run.batches[static_cast<std::size_t>(step) % run.batches.size()], 0.01F,
                         step, step * kBatch,
                         [&](const StepTensors& inputs, std::int64_t first, std::int64_t) {
                           fill(inputs.at("image"), inputs.at("label"), step, first);
                         })
            .loss);
  over_lasting(trainer.session(), trainer.step_graph(), [&](std::span<std::byte> tensor) {
    outcome.bytes.insert(outcome.bytes.end(), tensor.begin(), tensor.end());
  });
  return outcome;
}

std::vector<Outcome> train(const SyncRun& run, int ranks) {
  std::vector<Outcome> outcomes(static_cast<std::size_t>(ranks));
  const auto thrown = run_ranks(ranks, [&](dist::Group& group) {
    outcomes[static_cast<std::size_t>(group.rank())] = train(run, &group);
  });
  for (const std::string& text : thrown) EXPECT_EQ(text, "");
  return outcomes;
}

void expect_same_bits(const SyncRun& run, std::initializer_list<int> counts) {
  const Outcome alone = train(run, nullptr);
  EXPECT_TRUE(std::isfinite(alone.losses[0]));
  for (const int ranks : counts)
    for (const Outcome& outcome : train(run, ranks))
      EXPECT_TRUE(outcome == alone) << ranks << " ranks, " << run.parts << " parts";
}

TEST(SyncedStatistics, AreTheSameBitsWithAnyNumberOfRanks) {
  expect_same_bits({}, {2, 3, 4});
  // Of one image and of two, and ranks that hold several nodes of the tree.
  expect_same_bits({.parts = 8}, {3, 5});
}

TEST(SyncedStatistics, AreTheSameBitsForNetworksOfOtherKinds) {
  // Residuals behind BatchNorm, and depthwise convolutions that normalise what they read.
  expect_same_bits({.network = "resnet20", .steps = 2}, {3});
  expect_same_bits({.network = "xception_mini", .steps = 2}, {3});
}

TEST(SyncedStatistics, HoldForBatchesThatGiveSomeRanksNothingToDo) {
  expect_same_bits({.batches = {kBatch, 5, 1}}, {3, 4});
}

TEST(SyncedStatistics, AreTheSameBitsAtAnyBudgetAndWithShards) {
  const Outcome alone = train(SyncRun{}, nullptr);
  const Trainer trainer = sync_trainer({}, nullptr);
  const Problem problem = trainer.tapes().problem(0);
  const Fates least = find_smallest(problem, {}).fates;
  EXPECT_TRUE(train(SyncRun{.fates = name_fates(problem, least)}, nullptr) == alone);
  for (const Outcome& outcome : train({.fates = name_fates(problem, least)}, 2))
    EXPECT_TRUE(outcome == alone);
  for (const Outcome& outcome : train({.shards = true}, 3)) EXPECT_EQ(outcome.losses, alone.losses);
}

// The largest difference of what two runs left, against the largest value.
double difference(const Outcome& a, const Outcome& b) {
  const auto* x = reinterpret_cast<const float*>(a.bytes.data());
  const auto* y = reinterpret_cast<const float*>(b.bytes.data());
  double most = 0;
  double largest = 0;
  for (std::size_t i = 0; i < a.bytes.size() / sizeof(float); ++i) {
    most = std::max(most, std::abs(static_cast<double>(x[i]) - static_cast<double>(y[i])));
    largest = std::max(largest, std::abs(static_cast<double>(x[i])));
  }
  return most / largest;
}

// Which is what Keras and PyTorch are compared with.
TEST(SyncedStatistics, AreThoseOfTheWholeBatch) {
  for (const char* network : {"inception_mini", "resnet20", "xception_mini"}) {
    const SyncRun whole{.parts = 1, .network = network, .steps = 1};
    const Outcome golden = train(whole, nullptr);
    SyncRun parts = whole;
    parts.parts = 4;
    const Outcome synced = train(parts, nullptr);
    parts.syncs = false;
    const Outcome local = train(parts, nullptr);
    EXPECT_NEAR(synced.losses[0], golden.losses[0], 1e-6 * golden.losses[0]) << network;
    // Rounding carries activations over the kink of a relu; statistics of parts do far more.
    EXPECT_LT(difference(golden, synced), 0.01 * difference(golden, local)) << network;
  }
}

TEST(SyncedStatistics, OfABadPartLeaveAllAsTheyWere) {
  const auto thrown = run_ranks(3, [&](dist::Group& group) {
    Trainer trainer = sync_trainer({}, &group);
    trainer.open();
    const std::vector<std::byte> before = residents(trainer);
    const StepResult result = trainer.train_batch(
        kBatch, 0.01F, 0, 0, [&](const StepTensors& inputs, std::int64_t first, std::int64_t) {
          fill(inputs.at("image"), inputs.at("label"), 0, first);
          if (first == 0)
            inputs.at("image").image<float>(0)[0] = std::numeric_limits<float>::quiet_NaN();
        });
    EXPECT_FALSE(std::isfinite(result.gradient_norm)) << "rank " << group.rank();
  });
  for (const std::string& text : thrown) EXPECT_EQ(text, "");
}

TEST(SyncedStatistics, TakeRoomForAllPartsOfARankAtOnce) {
  const auto bytes = [](bool syncs, int ranks) {
    Trainer trainer = zoo_trainer(
        "inception_mini", kBatch,
        {.accumulate = 4, .place = {.rank = 0, .ranks = ranks}, .sync_statistics = syncs});
    trainer.plan(NamedFates{});
    return trainer.planned().arena_bytes() - trainer.tapes().resident_bytes();
  };
  EXPECT_GT(bytes(true, 1), 3 * bytes(false, 1));
  EXPECT_LT(bytes(true, 4), 1.1 * static_cast<double>(bytes(false, 4)));
}

TEST(SyncedStatistics, AStepAllocatesNothing) {
  if (!allocations_are_counted()) GTEST_SKIP() << "a sanitizer owns malloc";
  expect_no_allocation_in_step_ten([](dist::Group& group) {
    const auto trainer = std::make_shared<Trainer>(sync_trainer({}, &group));
    trainer->open();
    return [trainer](std::int64_t step) {
      trainer->train_batch(kBatch, 0.01F, step, step * kBatch,
                           [&](const StepTensors& inputs, std::int64_t first, std::int64_t) {
                             fill(inputs.at("image"), inputs.at("label"), step, first);
                           });
    };
  });
}

}  // namespace
}  // namespace plimsoll
