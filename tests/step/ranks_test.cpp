// Any number of ranks trains to the bytes of one process.
#include "tests/support/rank_training.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kRankParts = 8;  // of RankRun

TEST(Ranks, OfAnyNumberTrainToTheBytesOfOneProcess) {
  // 12 images in 8 parts: of one and of two.
  expect_same_bits({}, {2, 3, 4, 5, 8});
}

TEST(Ranks, TrainToTheSameBytesWithEveryOptimizerAndAverages) {
  expect_same_bits({.optimizer = {.name = "adam"}, .tuning = {.average = 0.9}}, {3});
  expect_same_bits({.optimizer = {.name = "rmsprop"}, .l2 = 1e-3}, {5});
  expect_same_bits({.optimizer = {.nesterov = true, .clip_norm = 0.5}, .l2 = 1e-3}, {2});
}

TEST(Ranks, TrainPartialBatchesThatGiveSomeOfThemNothingToDo) {
  // 5 images are 4 parts, 1 is one.
  expect_same_bits({.batches = {kBatch, 5, kBatch, 1}, .steps = 5}, {2, 5, 8});
}

TEST(Ranks, TrainDetectorsWhoseHeadsRunOneByOne) {
  expect_same_bits({.network = "retinanet_mini", .whole = 4, .batches = {4}, .steps = 2}, {3});
}

TEST(Ranks, TrainToTheSameBytesAtAnyBudget) {
  const RankOutcome alone = train({}, nullptr);
  Trainer trainer = rank_trainer({}, {});
  const Problem problem = trainer.tapes().problem(0);
  const Frontier frontier = find_frontier(problem, {});
  const std::size_t last = frontier.points.size() - 1;
  for (const Fates& fates :
       {frontier.points[last / 2].fates, frontier.points[last].fates, problem.all(Fate::spill)})
    for (const RankOutcome& outcome : train({.fates = name_fates(problem, fates)}, 3))
      EXPECT_TRUE(outcome == alone);
}

TEST(Ranks, TrainToTheSameBytesWithBucketsOfAnySize) {
  const RankOutcome alone = train({}, nullptr);
  for (const std::int64_t bytes : {std::int64_t{64} << 10, std::int64_t{64} << 20})
    for (const RankOutcome& outcome : train({.bucket_bytes = bytes}, 4))
      EXPECT_TRUE(outcome == alone);
}

TEST(Ranks, ABadPartOfOneLeavesAllAsTheyWere) {
  expect_bad_parts_change_nothing({}, 3, {0, 7, 11});
}

TEST(Ranks, EachHoldsNoMoreSlotsThanItsPartsNeed) {
  const auto slots = [](int rank, int ranks) {
    const Trainer trainer =
        zoo_trainer("inception_mini", kBatch,
                    {.accumulate = kRankParts, .place = {.rank = rank, .ranks = ranks}});
    std::int64_t count = 0;
    for (const std::string& name : trainer.tapes().resident_names())
      count += name.ends_with("/loss") && trainer.tapes().resident_role(name) == Role::accumulated;
    return count;
  };
  EXPECT_EQ(slots(0, 1), 3);
  EXPECT_EQ(slots(1, 2), 2);
  EXPECT_EQ(slots(3, 4), 1);
  EXPECT_EQ(slots(7, 8), 0);
}

TEST(Ranks, MoreThanThereArePartsAreRefused) {
  EXPECT_THROW(
      zoo_trainer("inception_mini", kBatch, {.accumulate = 2, .place = {.rank = 0, .ranks = 3}}),
      UsageError);
  EXPECT_THROW(
      zoo_trainer("inception_mini", kBatch, {.accumulate = 1, .place = {.rank = 0, .ranks = 2}}),
      UsageError);
}

TEST(Ranks, AStepAllocatesNothing) {
  if (!allocations_are_counted()) GTEST_SKIP() << "a sanitizer owns malloc";
  expect_steps_allocate_nothing({});
}

}  // namespace
}  // namespace plimsoll
