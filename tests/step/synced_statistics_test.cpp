// `--bn sync`: BatchNorm over all parts of a batch, whoever computes them.
#include "tests/support/rank_training.h"

namespace plimsoll {
namespace {

// In many buckets, and comparable with other cuts of the batch: without dropout.
RankRun synced(RankRun run) {
  run.syncs = true;
  run.dropout = 0;
  run.bucket_bytes = std::int64_t{64} << 10;
  return run;
}

TEST(SyncedStatistics, AreTheSameBitsWithAnyNumberOfRanks) {
  expect_same_bits(synced({.parts = 4}), {2, 3, 4});
  // Of one image and of two, and ranks that hold several nodes of the tree.
  expect_same_bits(synced({.parts = 8}), {3, 5});
}

TEST(SyncedStatistics, AreTheSameBitsForNetworksOfOtherKinds) {
  // Residuals behind BatchNorm, and depthwise convolutions that normalise what they read.
  expect_same_bits(synced({.network = "resnet20", .parts = 4, .steps = 2}), {3});
  expect_same_bits(synced({.network = "xception_mini", .parts = 4, .steps = 2}), {3});
}

TEST(SyncedStatistics, HoldForBatchesThatGiveSomeRanksNothingToDo) {
  expect_same_bits(synced({.parts = 4, .batches = {kBatch, 5, 1}}), {3, 4});
}

TEST(SyncedStatistics, AreTheSameBitsAtAnyBudgetAndWithShards) {
  RankRun run = synced({.parts = 4});
  const RankOutcome alone = train(run, nullptr);
  const Trainer trainer = rank_trainer(run, {});
  const Problem problem = trainer.tapes().problem(0);
  run.fates = name_fates(problem, find_smallest(problem, {}).fates);
  EXPECT_TRUE(train(run, nullptr) == alone);
  for (const RankOutcome& outcome : train(run, 2)) EXPECT_TRUE(outcome == alone);
  run.fates = {};
  run.shards = true;
  for (const RankOutcome& outcome : train(run, 3)) EXPECT_EQ(outcome.losses, alone.losses);
}

// The largest difference of what two runs left, against the largest value.
double difference(const RankOutcome& a, const RankOutcome& b) {
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
    RankRun run = synced({.network = network, .parts = 1, .steps = 1});
    const RankOutcome golden = train(run, nullptr);
    run.parts = 4;
    const RankOutcome met = train(run, nullptr);
    run.syncs = false;
    const RankOutcome local = train(run, nullptr);
    EXPECT_NEAR(met.losses[0], golden.losses[0], 1e-6 * golden.losses[0]) << network;
    // Rounding carries activations over the kink of a relu; statistics of parts do far more.
    EXPECT_LT(difference(golden, met), 0.01 * difference(golden, local)) << network;
  }
}

TEST(SyncedStatistics, OfABadPartLeaveAllAsTheyWere) {
  expect_bad_parts_change_nothing(synced({.parts = 4}), 3, {0});
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
  expect_steps_allocate_nothing(synced({.parts = 4}));
}

}  // namespace
}  // namespace plimsoll
