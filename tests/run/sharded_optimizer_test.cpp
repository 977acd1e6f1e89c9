// Ranks that share out what the optimizer remembers train to the bytes of one process, and their
// checkpoints are the same file.
#include <gtest/gtest.h>

#include "base/files.h"
#include "run/checkpoint.h"
#include "run/run_ranks.h"
#include "step/averages.h"
#include "tests/support/rank_training.h"
#include "tests/support/threads.h"

namespace plimsoll {
namespace {

// Ranks that share, in buckets of which a network has several.
Trainer sharded_trainer(RankRun run, const dist::RankPlace& place, bool shards = true) {
  run.parts = 4;
  run.bucket_bytes = std::int64_t{64} << 10;
  run.shards = shards;
  return rank_trainer(run, place);
}

void train_steps(const RankRun& run, Trainer& trainer, std::int64_t begin, std::int64_t end) {
  for (std::int64_t step = begin; step < end; ++step)
    trainer.train_batch(run.batches[static_cast<std::size_t>(step) % run.batches.size()], 0.01F,
                        step, step * kBatch,
                        [&](const StepTensors& inputs, std::int64_t first, std::int64_t) {
                          fill(inputs.at("image"), inputs.at("label"), step, first);
                        });
}

void save(const Trainer& trainer, const std::filesystem::path& path) {
  trainer.shards().lead([&] { save_checkpoint(path, trainer, {}, {}); });
}

void load(const Trainer& trainer, const std::filesystem::path& path, dist::Group* group) {
  trainer.shards().lead([&] { load_checkpoint(Checkpoint(path), trainer); });
  share_tensors(group, trainer);
}

// Steps [begin, end) by so many ranks, from the checkpoint of `from` unless that is empty; leaves
// one.
void train(const RankRun& run, int ranks, std::int64_t begin, std::int64_t end,
           const std::filesystem::path& from, const std::filesystem::path& to) {
  const auto thrown = run_ranks(ranks, [&](dist::Group& group) {
    Trainer trainer = sharded_trainer(run, dist::place_in(&group));
    trainer.open();
    if (!from.empty()) load(trainer, from, ranks > 1 ? &group : nullptr);
    train_steps(run, trainer, begin, end);
    save(trainer, to);
  });
  for (const std::string& text : thrown) EXPECT_EQ(text, "");
}

std::string bytes_of(const std::filesystem::path& path) { return read_file(path, 64_MiB); }

void expect_same_files(const RankRun& run, std::initializer_list<int> counts) {
  const TemporaryFolder folder;
  const auto alone = folder.path() / "alone";
  train(run, 1, 0, 3, {}, alone);
  for (const int ranks : counts) {
    const auto path = folder.path() / std::to_string(ranks);
    train(run, ranks, 0, 3, {}, path);
    EXPECT_TRUE(bytes_of(path) == bytes_of(alone))
        << ranks << " ranks, " << run.optimizer.name << ", average " << run.tuning.average;
  }
}

TEST(ShardedOptimizer, TrainsToTheBytesOfOneProcess) { expect_same_files({}, {2, 3, 4}); }

TEST(ShardedOptimizer, TrainsToTheSameBytesWhateverIsRemembered) {
  expect_same_files({.optimizer = {.name = "adam"}}, {2, 4});
  expect_same_files({.optimizer = {.name = "adamw", .weight_decay = 0.01}}, {3});
  expect_same_files({.optimizer = {.name = "rmsprop", .momentum = 0.9}}, {3});
  expect_same_files({.optimizer = {.name = "rmsprop", .momentum = 0}, .l2 = 1e-3}, {4});
  expect_same_files({.optimizer = {.nesterov = true, .clip_norm = 0.5}, .l2 = 1e-3}, {3});
}

TEST(ShardedOptimizer, SharesOutAveragesToo) {
  expect_same_files({.tuning = {.average = 0.9}}, {2, 3});
  expect_same_files({.optimizer = {.name = "adam"}, .tuning = {.average = 0.5}}, {4});
  expect_same_files({.optimizer = {.momentum = 0}, .tuning = {.average = 0.9}}, {3});
}

TEST(ShardedOptimizer, LeavesFrozenLayersAlone) {
  expect_same_files({.optimizer = {.name = "adam"},
                     .tuning = {.frozen = {"conv2d_1", "batch_normalization*"}, .average = 0.9}},
                    {3});
}

TEST(ShardedOptimizer, TrainsBatchesThatGiveSomeRanksNothingToDo) {
  expect_same_files({.batches = {kBatch, 1, 5}, .tuning = {.average = 0.9}}, {2, 4});
}

TEST(ShardedOptimizer, GoesOnWithAnyOtherNumberOfRanks) {
  const RankRun run{.optimizer = {.name = "adam"}, .tuning = {.average = 0.9}};
  const TemporaryFolder folder;
  train(run, 1, 0, 8, {}, folder.path() / "whole");
  train(run, 4, 0, 2, {}, folder.path() / "a");
  train(run, 1, 2, 4, folder.path() / "a", folder.path() / "b");
  train(run, 3, 4, 6, folder.path() / "b", folder.path() / "c");
  train(run, 2, 6, 8, folder.path() / "c", folder.path() / "end");
  EXPECT_TRUE(bytes_of(folder.path() / "end") == bytes_of(folder.path() / "whole"));
}

TEST(ShardedOptimizer, WhatWasFrozenWhenACheckpointWasWrittenStartsAnew) {
  const RankRun frozen{.optimizer = {.name = "adam"},
                       .tuning = {.frozen = {"conv2d_*"}, .average = 0.9}};
  const RankRun thawed{.optimizer = {.name = "adam"}, .tuning = {.average = 0.9}};
  const TemporaryFolder folder;
  train(frozen, 1, 0, 2, {}, folder.path() / "frozen");
  train(thawed, 1, 2, 4, folder.path() / "frozen", folder.path() / "alone");
  train(thawed, 3, 2, 4, folder.path() / "frozen", folder.path() / "three");
  EXPECT_TRUE(bytes_of(folder.path() / "three") == bytes_of(folder.path() / "alone"));
}

TEST(ShardedOptimizer, PutsAveragesInTheWeightsPlaceOnEveryRank) {
  const RankRun run{.tuning = {.average = 0.9}};
  const auto weights = [](const Trainer& trainer) {
    std::vector<std::byte> bytes;
    for (const std::string& name : trainer.step_graph().trained) {
      const TensorView view = trainer.session().resident(name);
      bytes.insert(bytes.end(), view.data, view.data + view.spec.bytes());
    }
    return bytes;
  };
  Trainer alone = sharded_trainer(run, {});
  alone.open();
  train_steps(run, alone, 0, 2);
  const std::vector<std::byte> trained = weights(alone);
  AveragesInPlace in_place(alone.shards());
  const std::vector<std::byte> averaged = weights(alone);
  const auto thrown = run_ranks(3, [&](dist::Group& group) {
    Trainer trainer = sharded_trainer(run, dist::place_in(&group));
    trainer.open();
    train_steps(run, trainer, 0, 2);
    EXPECT_TRUE(weights(trainer) == trained) << group.rank();
    AveragesInPlace averages(trainer.shards());
    EXPECT_TRUE(weights(trainer) == averaged) << group.rank();
    averages.put_back();
    EXPECT_TRUE(weights(trainer) == trained) << group.rank();
  });
  for (const std::string& text : thrown) EXPECT_EQ(text, "");
}

TEST(ShardedOptimizer, ABadFileIsToldByRankZeroAndNobodyIsLeftWaiting) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "run";
  train({}, 3, 0, 1, {}, path);
  std::string text = bytes_of(path);
  text[text.size() - 100] ^= 1;  // in the optimizer's tensors, which come last
  write_file(path, text);
  std::vector<bool> told(3);
  const auto thrown = run_ranks(3, [&](dist::Group& group) {
    Trainer trainer = sharded_trainer({}, dist::place_in(&group));
    trainer.open();
    try {
      trainer.shards().lead([&] { load_checkpoint(Checkpoint(path), trainer); });
    } catch (const DataError&) {
      told[static_cast<std::size_t>(group.rank())] = true;
    }
  });
  for (const std::string& error : thrown) EXPECT_EQ(error, "");
  EXPECT_EQ(told, std::vector<bool>({true, false, false}));
}

std::int64_t bytes_of(const Trainer& trainer, Role role) {
  std::int64_t sum = 0;
  for (const std::string& name : trainer.tapes().resident_names())
    if (trainer.tapes().resident_role(name) == role)
      sum += trainer.tapes().resident_spec(name).bytes();
  return sum;
}

TEST(ShardedOptimizer, LeavesEveryRankItsShareAlone) {
  const RankRun run{.optimizer = {.name = "adam"}, .tuning = {.average = 0.9}};
  for (const Role role : {Role::optimizer, Role::average}) {
    const std::int64_t whole = bytes_of(sharded_trainer(run, {.rank = 0, .ranks = 4}, false), role);
    std::int64_t sum = 0;
    for (int rank = 0; rank < 4; ++rank) {
      const std::int64_t own = bytes_of(sharded_trainer(run, {.rank = rank, .ranks = 4}), role);
      sum += own;
      // A cache line of every tensor.
      EXPECT_NEAR(static_cast<double>(own), static_cast<double>(whole) / 4, 64.0 * 150);
    }
    EXPECT_EQ(sum, whole);
  }
}

// What was promised of inception_v3.
TEST(ShardedOptimizer, SavesThreeQuartersOfWhatFourRanksRemember) {
  constexpr double kMiB = 1 << 20;
  const auto resident = [](const char* optimizer, bool shards) {
    const Trainer trainer = zoo_trainer("inception_v3", 4,
                                        {.accumulate = 4,
                                         .place = {.rank = 0, .ranks = 4},
                                         .shard_optimizer = shards,
                                         .optimizer = {.name = optimizer}});
    return static_cast<double>(trainer.tapes().resident_bytes());
  };
  EXPECT_NEAR((resident("sgd", false) - resident("sgd", true)) / kMiB, 68, 3);
  EXPECT_NEAR((resident("adam", false) - resident("adam", true)) / kMiB, 136, 3);
}

TEST(ShardedOptimizer, AllocatesNothingInAStep) {
  if (!allocations_are_counted()) GTEST_SKIP() << "a sanitizer owns malloc";
  const RankRun run{.tuning = {.average = 0.9}};
  expect_no_allocation_in_step_ten([&](dist::Group& group) {
    const auto trainer = std::make_shared<Trainer>(sharded_trainer(run, dist::place_in(&group)));
    trainer->open();
    return [&run, trainer](std::int64_t step) { train_steps(run, *trainer, step, step + 1); };
  });
}

}  // namespace
}  // namespace plimsoll
