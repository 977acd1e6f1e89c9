// Training of small networks by ranks that are threads, beside one process.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>

#include "tests/support/mini_training.h"
#include "tests/support/rank_allocations.h"

namespace plimsoll {

struct RankRun {
  const char* network = "inception_mini";
  std::int64_t parts = 8;
  std::int64_t whole = kBatch;
  std::vector<std::int64_t> batches{kBatch};  // one a step, over and over
  OptimizerOptions optimizer = {};
  Tuning tuning = {};
  double l2 = 0;
  double dropout = 0.3;
  std::int64_t bucket_bytes = std::int64_t{4} << 20;
  bool syncs = false;   // statistics of BatchNorms
  bool shards = false;  // what the optimizer remembers, over ranks
  NamedFates fates = {};
  std::int64_t steps = 3;
};

struct RankOutcome {
  std::vector<std::byte> bytes;  // of what lasts
  std::vector<double> losses;
  std::vector<double> numbers;  // sums and norms of all steps, and a checksum of weights
  bool operator==(const RankOutcome&) const = default;
};

inline std::vector<std::byte> lasting(const Trainer& trainer) {
  std::vector<std::byte> bytes;
  over_lasting(trainer.session(), trainer.step_graph(), [&](std::span<std::byte> tensor) {
    bytes.insert(bytes.end(), tensor.begin(), tensor.end());
  });
  return bytes;
}

inline Trainer rank_trainer(const RankRun& run, const dist::RankPlace& place) {
  const zoo::Network& network = zoo::find_network(run.network);
  TrainerOptions options{
      .input = {.batch = run.whole, .channels = network.channels, .image = network.image},
      .train_batches = {run.whole},
      .accumulate = run.parts,
      .place = place,
      .bucket_bytes = run.bucket_bytes,
      .shard_optimizer = run.shards && place.ranks > 1,
      .sync_statistics = run.syncs,
      .task = task_of(network),
      .l2 = run.l2,
      .optimizer = run.optimizer,
      .tuning = run.tuning};
  for (const std::int64_t batch : run.batches)
    if (batch != run.whole) options.train_batches.push_back(batch);
  return Trainer(
      op_table(),
      [&](nn::Builder& net) {
        return network.build(net, {.classes = network.classes, .dropout = run.dropout});
      },
      options);
}

// Pictures with a label, or with a box each.
inline void fill_any(const StepTensors& inputs, std::int64_t step, std::int64_t first) {
  const TensorView image = inputs.at("image");
  if (const auto label = inputs.find("label")) return fill(image, *label, step, first);
  const std::int64_t images = image.spec.shape[0];
  std::vector<std::int32_t> labels(static_cast<std::size_t>(images));
  fill(image, {reinterpret_cast<std::byte*>(labels.data()), plain({images}, DType::i32), 1}, step,
       first);
  for (std::int64_t n = 0; n < images; ++n) {
    const float corner = 4 + static_cast<float>((step + first + n) % 5);
    const float box[] = {corner, corner, corner + 24, corner + 30};
    std::copy_n(box, 4, inputs.at("boxes").image<float>(n));
    inputs.at("box_labels").image<std::int32_t>(n)[0] = labels[static_cast<std::size_t>(n)] % 2;
    inputs.at("box_count").at<std::int32_t>(n) = 1;
  }
}

inline RankOutcome train(const RankRun& run, dist::Group* group) {
  Trainer trainer = rank_trainer(run, dist::place_in(group));
  const TemporaryFolder folder;
  trainer.plan(run.fates);
  trainer.open(folder.path());
  RankOutcome outcome;
  std::int64_t sample = 0;
  for (std::int64_t step = 0; step < run.steps; ++step) {
    const std::int64_t batch = run.batches[static_cast<std::size_t>(step) % run.batches.size()];
    const StepResult result =
        trainer.train_batch(batch, 0.01F, step, sample,
                            [&](const StepTensors& inputs, std::int64_t first, std::int64_t) {
                              fill_any(inputs, step, first);
                            });
    sample += batch;
    outcome.losses.push_back(result.loss);
    outcome.numbers.insert(outcome.numbers.end(), {result.sums[0], result.gradient_norm});
  }
  outcome.numbers.push_back(checksum_of(trainer.session(), trainer.step_graph()));
  outcome.bytes = lasting(trainer);
  return outcome;
}

// Every rank's.
inline std::vector<RankOutcome> train(const RankRun& run, int ranks) {
  std::vector<RankOutcome> outcomes(static_cast<std::size_t>(ranks));
  const std::vector<std::string> thrown = run_ranks(ranks, [&](dist::Group& group) {
    outcomes[static_cast<std::size_t>(group.rank())] = train(run, &group);
  });
  for (const std::string& text : thrown) EXPECT_EQ(text, "");
  return outcomes;
}

inline void expect_same_bits(const RankRun& run, std::initializer_list<int> counts) {
  const RankOutcome alone = train(run, nullptr);
  EXPECT_TRUE(std::isfinite(alone.losses[0]));
  for (const int ranks : counts) {
    const std::vector<RankOutcome> outcomes = train(run, ranks);
    for (std::size_t r = 0; r < outcomes.size(); ++r) {
      EXPECT_EQ(outcomes[r].losses, alone.losses) << "rank " << r << " of " << ranks;
      EXPECT_EQ(outcomes[r].numbers, alone.numbers) << "rank " << r << " of " << ranks;
      EXPECT_TRUE(outcomes[r].bytes == alone.bytes) << "rank " << r << " of " << ranks;
    }
  }
}

// A picture that is no number, at each of these places of the batch in turn.
inline void expect_bad_parts_change_nothing(const RankRun& run, int ranks,
                                            std::initializer_list<int> places) {
  for (const int bad : places) {
    const auto thrown = run_ranks(ranks, [&](dist::Group& group) {
      Trainer trainer = rank_trainer(run, dist::place_in(&group));
      trainer.open();
      const std::vector<std::byte> before = lasting(trainer);
      const StepResult result = trainer.train_batch(
          kBatch, 0.01F, 0, 0,
          [&](const StepTensors& inputs, std::int64_t first, std::int64_t count) {
            fill(inputs.at("image"), inputs.at("label"), 0, first);
            if (bad >= first && bad < first + count)
              inputs.at("image").image<float>(bad - first)[0] =
                  std::numeric_limits<float>::quiet_NaN();
          });
      EXPECT_FALSE(std::isfinite(result.gradient_norm)) << "rank " << group.rank();
      EXPECT_TRUE(lasting(trainer) == before) << "rank " << group.rank();
    });
    for (const std::string& text : thrown) EXPECT_EQ(text, "");
  }
}

inline void expect_steps_allocate_nothing(const RankRun& run) {
  expect_no_allocation_in_step_ten([&](dist::Group& group) {
    const auto trainer = std::make_shared<Trainer>(rank_trainer(run, dist::place_in(&group)));
    trainer->open();
    return [trainer](std::int64_t step) {
      trainer->train_batch(kBatch, 0.01F, step, step * kBatch,
                           [&](const StepTensors& inputs, std::int64_t first, std::int64_t) {
                             fill(inputs.at("image"), inputs.at("label"), step, first);
                           });
    };
  });
}

}  // namespace plimsoll
