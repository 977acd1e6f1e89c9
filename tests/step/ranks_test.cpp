// Any number of ranks trains to the bytes of one process.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/mini_training.h"
#include "tests/support/rank_allocations.h"
#include "tests/support/threads.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kParts = 8;

struct RankRun {
  const char* network = "inception_mini";
  std::int64_t whole = kBatch;
  std::vector<std::int64_t> batches{kBatch};  // one a step, over and over
  OptimizerOptions optimizer = {};
  double average = 0;
  double l2 = 0;
  std::int64_t bucket_bytes = std::int64_t{4} << 20;
  NamedFates fates = {};
  std::int64_t steps = 3;
};

// What lasts, and the losses and norms of all steps.
struct Outcome {
  std::vector<std::byte> bytes;
  std::vector<double> numbers;
  bool operator==(const Outcome&) const = default;
};

std::vector<std::byte> lasting(const Trainer& trainer) {
  std::vector<std::byte> bytes;
  over_lasting(trainer.session(), trainer.step_graph(), [&](std::span<std::byte> tensor) {
    bytes.insert(bytes.end(), tensor.begin(), tensor.end());
  });
  return bytes;
}

Trainer rank_trainer(const RankRun& run, dist::Group* group) {
  const zoo::Network& network = zoo::find_network(run.network);
  TrainerOptions options{
      .input = {.batch = run.whole, .channels = network.channels, .image = network.image},
      .train_batches = {run.whole},
      .accumulate = kParts,
      .place = dist::place_in(group),
      .bucket_bytes = run.bucket_bytes,
      .task = task_of(network),
      .l2 = run.l2,
      .optimizer = run.optimizer,
      .tuning = {.average = run.average}};
  for (const std::int64_t batch : run.batches)
    if (batch != run.whole) options.train_batches.push_back(batch);
  return Trainer(
      op_table(),
      [&](nn::Builder& net) {
        return network.build(net, {.classes = network.classes, .dropout = 0.3});
      },
      options);
}

// Pictures with a label, or with a box each.
void fill_any(const StepTensors& inputs, std::int64_t step, std::int64_t first) {
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

Outcome train(const RankRun& run, dist::Group* group) {
  Trainer trainer = rank_trainer(run, group);
  const TemporaryFolder folder;
  trainer.plan(run.fates);
  trainer.open(folder.path());
  Outcome outcome;
  std::int64_t sample = 0;
  for (std::int64_t step = 0; step < run.steps; ++step) {
    const std::int64_t batch = run.batches[static_cast<std::size_t>(step) % run.batches.size()];
    const StepResult result =
        trainer.train_batch(batch, 0.01F, step, sample,
                            [&](const StepTensors& inputs, std::int64_t first, std::int64_t) {
                              fill_any(inputs, step, first);
                            });
    sample += batch;
    outcome.numbers.insert(outcome.numbers.end(),
                           {result.loss, result.sums[0], result.gradient_norm});
  }
  outcome.numbers.push_back(checksum_of(trainer.session(), trainer.step_graph()));
  outcome.bytes = lasting(trainer);
  return outcome;
}

// Every rank's.
std::vector<Outcome> train(const RankRun& run, int ranks) {
  std::vector<Outcome> outcomes(static_cast<std::size_t>(ranks));
  const std::vector<std::string> thrown = run_ranks(ranks, [&](dist::Group& group) {
    outcomes[static_cast<std::size_t>(group.rank())] = train(run, &group);
  });
  for (const std::string& text : thrown) EXPECT_EQ(text, "");
  return outcomes;
}

void expect_same_bits(const RankRun& run, std::initializer_list<int> counts) {
  const Outcome alone = train(run, nullptr);
  EXPECT_TRUE(std::isfinite(alone.numbers[0]));
  for (const int ranks : counts) {
    const std::vector<Outcome> outcomes = train(run, ranks);
    for (std::size_t r = 0; r < outcomes.size(); ++r) {
      EXPECT_EQ(outcomes[r].numbers, alone.numbers) << "rank " << r << " of " << ranks;
      EXPECT_TRUE(outcomes[r].bytes == alone.bytes) << "rank " << r << " of " << ranks;
    }
  }
}

TEST(Ranks, OfAnyNumberTrainToTheBytesOfOneProcess) {
  // 12 images in 8 parts: of one and of two.
  expect_same_bits({}, {2, 3, 4, 5, 8});
}

TEST(Ranks, TrainToTheSameBytesWithEveryOptimizerAndAverages) {
  expect_same_bits({.optimizer = {.name = "adam"}, .average = 0.9}, {3});
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
  const Outcome alone = train({}, nullptr);
  Trainer trainer = rank_trainer({}, nullptr);
  const Problem problem = trainer.tapes().problem(0);
  const Frontier frontier = find_frontier(problem, {});
  const std::size_t last = frontier.points.size() - 1;
  for (const Fates& fates :
       {frontier.points[last / 2].fates, frontier.points[last].fates, problem.all(Fate::spill)})
    for (const Outcome& outcome : train({.fates = name_fates(problem, fates)}, 3))
      EXPECT_TRUE(outcome == alone);
}

TEST(Ranks, TrainToTheSameBytesWithBucketsOfAnySize) {
  const Outcome alone = train({}, nullptr);
  for (const std::int64_t bytes : {std::int64_t{64} << 10, std::int64_t{64} << 20})
    for (const Outcome& outcome : train({.bucket_bytes = bytes}, 4)) EXPECT_TRUE(outcome == alone);
}

TEST(Ranks, ABadPartOfOneLeavesAllAsTheyWere) {
  for (const int bad : {0, 7, 11}) {
    std::vector<Outcome> outcomes(3);
    const auto thrown = run_ranks(3, [&](dist::Group& group) {
      Trainer trainer = rank_trainer({}, &group);
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

TEST(Ranks, EachHoldsNoMoreSlotsThanItsPartsNeed) {
  const auto slots = [](int rank, int ranks) {
    const Trainer trainer = zoo_trainer(
        "inception_mini", kBatch, {.accumulate = kParts, .place = {.rank = rank, .ranks = ranks}});
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
  expect_no_allocation_in_step_ten([](dist::Group& group) {
    const auto trainer = std::make_shared<Trainer>(rank_trainer({}, &group));
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
