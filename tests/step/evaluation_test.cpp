// An evaluation that is dealt over ranks finds what one process finds.
#include "step/evaluation.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "data/source/memory_source.h"
#include "tests/support/ranks.h"
#include "tests/support/small_pipeline.h"
#include "tests/support/watchdog.h"
#include "tests/support/zoo_trainer.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kEvaluatedBatch = 16;
constexpr std::int64_t kSide = 28;

SourcePtr noise(std::int64_t samples) {
  Images images{.count = samples, .height = kSide, .width = kSide, .channels = 1};
  images.pixels.resize(static_cast<std::size_t>(samples * kSide * kSide));
  for (std::size_t i = 0; i < images.pixels.size(); ++i)
    images.pixels[i] = static_cast<std::uint8_t>(splitmix64(i));
  for (std::int64_t i = 0; i < samples; ++i)
    images.labels.push_back(static_cast<std::int32_t>(i % 10));
  for (int i = 0; i < 10; ++i) images.class_names.push_back(std::to_string(i));
  return make_memory_source(std::move(images), "noise", "noise");
}

struct Found {
  Evaluation evaluation;
  ClassTable classes;
  std::int64_t evaluated_here = 0;
};

Found evaluate(const SourcePtr& source, dist::Group* group) {
  const std::vector<std::string> names = source->class_names();
  TrainerOptions options{.evaluate_batches = batch_sizes(source->size(), kEvaluatedBatch, false),
                         .task = make_classification({.classes = 10, .class_names = names})};
  Trainer trainer = zoo_trainer("inception_mini", kEvaluatedBatch, options);
  trainer.open();
  PipelineSettings settings{.batch = kEvaluatedBatch,
                            .image = {.height = kSide, .width = kSide},
                            .channels = 1,
                            .shuffle = false,
                            .repeat = false,
                            .workers = 1};
  if (group != nullptr) {
    settings.window = dealt_batches(group->rank(), group->ranks(), kEvaluatedBatch);
    settings.window_most = kEvaluatedBatch;
  }
  Pipeline pipeline(source, settings, kLargest);
  const std::unique_ptr<Tally> tally = trainer.task().make_tally({});
  Found found;
  Evaluator evaluator(
      trainer, pipeline, {}, tally.get(),
      [&](const StepTensors&, const Batch& batch) { found.evaluated_here += batch.count; }, group);
  while (evaluator.next()) continue;
  found.evaluation = evaluator.so_far();
  found.classes = tally->classes();
  return found;
}

TEST(Evaluation, DealtOverRanksFindsTheSameToTheLastDigit) {
  const Watchdog watchdog(std::chrono::seconds(120));
  for (const std::int64_t samples : {1, 7, 97}) {
    const SourcePtr source = noise(samples);
    const Found alone = evaluate(source, nullptr);
    EXPECT_EQ(alone.evaluation.samples, samples);
    for (const int ranks : {2, 3, 4}) {
      std::atomic<std::int64_t> evaluated{0};
      const auto thrown = run_ranks(ranks, [&](dist::Group& group) {
        const Found found = evaluate(source, &group);
        EXPECT_EQ(found.evaluation.loss, alone.evaluation.loss);
        EXPECT_EQ(found.evaluation.metrics, alone.evaluation.metrics);
        EXPECT_EQ(found.evaluation.samples, samples);
        ASSERT_EQ(found.classes.rows.size(), alone.classes.rows.size());
        for (std::size_t i = 0; i < found.classes.rows.size(); ++i) {
          EXPECT_EQ(found.classes.rows[i].values, alone.classes.rows[i].values);
          EXPECT_EQ(found.classes.rows[i].remark, alone.classes.rows[i].remark);
        }
        evaluated += found.evaluated_here;
      });
      EXPECT_EQ(evaluated, samples) << "every sample once";
      for (const std::string& text : thrown) EXPECT_EQ(text, "");
    }
  }
}

// By one rank, by the other, by both.
TEST(Evaluation, WhatAnyRankAsksAllHear) {
  const Watchdog watchdog;
  const SourcePtr source = noise(40);
  for (const int asking : {1, 2, 3}) {
    const auto thrown = run_ranks(2, [&](dist::Group& group) {
      Trainer trainer = zoo_trainer("inception_mini", kEvaluatedBatch,
                                    {.evaluate_batches = {kEvaluatedBatch, 8}});
      trainer.open();
      PipelineSettings settings{
          .batch = kEvaluatedBatch,
          .image = {.height = kSide, .width = kSide},
          .channels = 1,
          .shuffle = false,
          .repeat = false,
          .workers = 1,
          .window = dealt_batches(group.rank(), group.ranks(), kEvaluatedBatch),
          .window_most = kEvaluatedBatch};
      Pipeline pipeline(source, settings, kLargest);
      Evaluator evaluator(trainer, pipeline, {}, nullptr, {}, &group);
      EXPECT_TRUE(evaluator.next((asking >> group.rank() & 1) != 0));
      EXPECT_TRUE(evaluator.is_asked());
      EXPECT_EQ(evaluator.batches(), 2);
      EXPECT_TRUE(evaluator.next(false));
      EXPECT_FALSE(evaluator.is_asked());
      EXPECT_FALSE(evaluator.next(false));
    });
    for (const std::string& text : thrown) EXPECT_EQ(text, "");
  }
}

}  // namespace
}  // namespace plimsoll
