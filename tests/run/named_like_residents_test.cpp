// What a resident is does not follow from its name: a user may call a layer `optimizer`.
#include <gtest/gtest.h>

#include "ops/table.h"
#include "run/checkpoint.h"
#include "step/budget.h"
#include "step/synthetic_batch.h"
#include "tests/support/residents.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kNamedBatch = 4;

// A small network whose layers have these names.
Trainer make_trainer(const std::vector<std::string>& names, std::uint64_t seed = 0) {
  return Trainer(op_table(),
                 [names](nn::Builder& net) {
                   ValueId x = net.conv2d(net.image(), 16, 3, {.name = names[0]});
                   x = net.batch_norm(x, {.name = names[1]});
                   x = net.global_average_pool(net.relu(x));
                   return nn::Heads{net.dense(x, 10, names[2])};
                 },
                 {.input = {.batch = kNamedBatch, .channels = 3, .image = 8},
                  .train_batches = {kNamedBatch},
                  .tuning = {.average = 0.9},
                  .seed = seed});
}

const std::vector<std::string> kPlainNames{"a", "b", "c"};
const std::vector<std::string> kTrickyNames{"optimizer", "average", "accumulated"};

TEST(NamedLikeResidents, TheLedgerCountsThemAsWeights) {
  const auto lines = [](const std::vector<std::string>& names) {
    Trainer trainer = make_trainer(names);
    // Files count, where the run directory is memory.
    const Surroundings around{.files = {.checkpoints = 2, .weights = 1, .histograms = 3}};
    return plan_within(trainer, {.around = around}).ledger.lines;
  };
  const std::vector<LedgerLine> expected = lines(kPlainNames), got = lines(kTrickyNames);
  EXPECT_EQ(got, expected);
  EXPECT_GT(expected[0].bytes, expected[1].bytes) << "averages count as weights";
  EXPECT_GT(expected[1].bytes, 0) << "and momentum does not";
}

TEST(NamedLikeResidents, RolesTellThemApart) {
  Trainer trainer = make_trainer(kTrickyNames);
  const PreparedTapes& tapes = trainer.tapes();
  EXPECT_EQ(tapes.resident_role("optimizer/kernel"), Role::parameter);
  EXPECT_EQ(tapes.resident_role("optimizer/optimizer/kernel/momentum"), Role::optimizer);
  EXPECT_EQ(tapes.resident_role("average/gamma"), Role::parameter);
  EXPECT_EQ(tapes.resident_role("average/moving_mean"), Role::statistics);
  EXPECT_EQ(tapes.resident_role("average/average/gamma"), Role::average);
  EXPECT_EQ(tapes.resident_role("accumulated/kernel"), Role::parameter);
}

TEST(NamedLikeResidents, ACheckpointBringsEveryOneBack) {
  const TemporaryFolder folder;
  Trainer trainer = make_trainer(kTrickyNames);
  trainer.open();
  for (std::int64_t step = 0; step < 2; ++step) {
    fill_synthetic_batch(trainer, kNamedBatch);
    trainer.train_step(kNamedBatch, 0.1F, step, step * kNamedBatch);
  }
  save_checkpoint(folder / "last.safetensors", trainer, {}, {});
  Trainer other = make_trainer(kTrickyNames, 7);
  other.open();
  ASSERT_NE(residents(other), residents(trainer));
  load_checkpoint(Checkpoint(folder / "last.safetensors"), other);
  EXPECT_EQ(residents(other), residents(trainer));
}

}  // namespace
}  // namespace plimsoll
