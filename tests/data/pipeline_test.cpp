#include "data/batch/pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "data/batch/order.h"
#include "data/batch/pipeline_memory.h"
#include "data/source/memory_source.h"
#include "tests/support/complaints.h"
#include "tests/support/image_folder.h"
#include "tests/support/small_pipeline.h"
#include "tests/support/watchdog.h"

namespace plimsoll {
namespace {

using testing::ElementsAre;

PipelineSettings with_everything() {
  PipelineSettings settings = small_settings();
  settings.augment = parse_augment(
      "random_resized_crop,horizontal_flip,rotation_range=20,brightness_range=0.5:1.5,mixup=0.4");
  return settings;
}

TEST(Pipeline, GivesTheSameBytesWithAnyNumberOfWorkers) {
  const Watchdog watchdog;
  const ImageFolder images(3, 7);
  Seen first;
  for (const int workers : {1, 2, 8}) {
    PipelineSettings settings = with_everything();
    settings.workers = workers;
    Pipeline pipeline(images.open(), settings, kLargest);
    pipeline.start(0, 0);
    const Seen seen = read(pipeline, 14);
    if (workers == 1)
      first = seen;
    else
      EXPECT_EQ(seen, first) << workers << " workers";
  }
  // Twice over the 21 samples, with a batch of one at the end of each epoch.
  EXPECT_EQ(first.samples.size(), 2U * 21 + 2 * 4);
}

TEST(Pipeline, GivesTheSameBytesFromAnyPosition) {
  const Watchdog watchdog;
  const ImageFolder images(3, 7);
  Pipeline pipeline(images.open(), with_everything(), kLargest);
  pipeline.start(0, 0);
  std::vector<Seen> batches;
  std::vector<std::pair<std::int64_t, std::int64_t>> places;
  for (int i = 0; i < 14; ++i) {
    const Batch batch = pipeline.next().value();
    places.emplace_back(batch.epoch, batch.first);
    batches.emplace_back().add(batch);
  }
  EXPECT_EQ(places[5], (std::pair<std::int64_t, std::int64_t>(0, 20)));
  EXPECT_EQ(places[6], (std::pair<std::int64_t, std::int64_t>(1, 0)));
  for (std::size_t i = 0; i < batches.size(); ++i) {
    pipeline.start(places[i].first, places[i].second);
    EXPECT_EQ(read(pipeline, 1), batches[i]) << i;
  }
}

// What ranks see of a batch, put together, is the batch.
TEST(Pipeline, WindowsOfItMakeUpTheWhole) {
  const Watchdog watchdog;
  const ImageFolder images(3, 7);
  Pipeline whole(images.open(), with_everything(), kLargest);
  whole.start(0, 0);
  const Seen all = read(whole, 14);
  constexpr std::int64_t kWindows = 3;
  std::vector<std::unique_ptr<Pipeline>> parts;
  for (std::int64_t part = 0; part < kWindows; ++part) {
    PipelineSettings settings = with_everything();
    // The last batch of an epoch has one sample: two of three windows are empty.
    settings.window = [part](std::int64_t, std::int64_t count) {
      const std::int64_t first = part * count / kWindows;
      return BatchWindow{.first = first, .count = (part + 1) * count / kWindows - first};
    };
    settings.window_most = 2;
    parts.push_back(std::make_unique<Pipeline>(images.open(), settings, kLargest));
    parts.back()->start(0, 0);
  }
  Seen joined;
  for (int i = 0; i < 14; ++i) {
    std::int64_t count = 0;
    for (auto& part : parts) {
      const Batch batch = part->next().value();
      EXPECT_EQ(batch.offset, count);
      EXPECT_EQ(batch.whole, i % 6 == 5 ? 1 : 4);
      count += batch.count;
      const bool is_last = &part == &parts.back();
      joined.add(batch);
      if (!is_last) joined.firsts.pop_back();
      EXPECT_TRUE(!is_last || count == batch.whole);
    }
  }
  EXPECT_EQ(joined, all);
}

TEST(Pipeline, BatchesDealtRoundAreMadeOnceEach) {
  const Watchdog watchdog;
  const ImageFolder images(3, 7);
  constexpr int kRanks = 4;
  std::vector<std::int64_t> samples;
  for (std::int64_t rank = 0; rank < kRanks; ++rank) {
    PipelineSettings settings = small_settings();
    settings.shuffle = settings.repeat = false;
    settings.window = [rank](std::int64_t position, std::int64_t count) {
      return BatchWindow{.first = 0, .count = position / 4 % kRanks == rank ? count : 0};
    };
    settings.window_most = 4;
    Pipeline pipeline(images.open(), settings, kLargest);
    pipeline.start(0, 0);
    int batches = 0;
    for (; const std::optional<Batch> batch = pipeline.next(); ++batches)
      samples.insert(samples.end(), batch->samples.begin(), batch->samples.end());
    EXPECT_EQ(batches, 6);
  }
  std::ranges::sort(samples);
  ASSERT_EQ(samples.size(), 21U);
  for (std::size_t i = 0; i < samples.size(); ++i)
    EXPECT_EQ(samples[i], static_cast<std::int64_t>(i));
}

TEST(Pipeline, ShowsEverySampleOnceAnEpochInTheOrderOfTheSeed) {
  const Watchdog watchdog;
  const ImageFolder images(2, 5);
  Pipeline pipeline(images.open(), small_settings(), kLargest);
  for (const std::int64_t epoch : {0, 3}) {
    pipeline.start(epoch, 0);
    const Seen seen = read(pipeline, 3);
    const Order order = Order::shuffled(10, 5, epoch);
    std::vector<std::int64_t> expected;
    for (std::int64_t k = 0; k < 10; ++k) expected.push_back(order[k]);
    EXPECT_EQ(seen.samples, expected);
    for (std::size_t k = 0; k < 10; ++k) EXPECT_EQ(seen.labels[k], seen.samples[k] / 5);
  }
}

TEST(Pipeline, EndsWhereItDoesNotRepeat) {
  const Watchdog watchdog;
  const ImageFolder images(1, 10);
  PipelineSettings settings = small_settings();
  settings.repeat = false;
  settings.shuffle = false;
  Pipeline whole(images.open(), settings, kLargest);
  EXPECT_EQ(whole.batches_per_epoch(), 3);
  for (int pass = 0; pass < 2; ++pass) {
    whole.start(0, 0);
    EXPECT_THAT(read(whole, 3).samples, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
    EXPECT_FALSE(whole.next());
    EXPECT_FALSE(whole.next());
  }
  settings.drop_last = true;
  Pipeline cut(images.open(), settings, kLargest);
  EXPECT_EQ(cut.batches_per_epoch(), 2);
  cut.start(0, 0);
  EXPECT_EQ(read(cut, 2).samples.size(), 8U);
  EXPECT_FALSE(cut.next());
}

TEST(Pipeline, DropsThePartialBatchOfEveryEpochIfAsked) {
  const Watchdog watchdog;
  const ImageFolder images(1, 10);
  PipelineSettings settings = small_settings();
  settings.drop_last = true;
  Pipeline pipeline(images.open(), settings, kLargest);
  pipeline.start(0, 0);
  EXPECT_THAT(read(pipeline, 5).firsts, ElementsAre(0, 4, 0, 4, 0));
}

TEST(Pipeline, ScalesImagesHeldInMemoryAsItWouldFiles) {
  const Watchdog watchdog;
  Images images{.count = 3, .height = 4, .width = 4, .channels = 1, .class_names = {"a", "b"}};
  for (int i = 0; i < 48; ++i) images.pixels.push_back(static_cast<std::uint8_t>(i * 5));
  images.labels = {0, 1, 0};
  const std::vector<std::uint8_t> pixels = images.pixels;
  const SourcePtr source = make_memory_source(std::move(images), "memory", "test");
  PipelineSettings settings = small_settings();
  settings.image = {.height = 4, .width = 4};
  settings.channels = 1;
  settings.shuffle = false;
  settings.batch = 3;
  Pipeline grey(source, settings, kLargest);
  grey.start(0, 0);
  const Seen seen = read(grey, 1);
  EXPECT_EQ(seen.pixels, pixels);
  EXPECT_THAT(seen.labels, ElementsAre(0, 1, 0));
  settings.channels = 3;
  Pipeline colour(source, settings, kLargest);
  colour.start(0, 0);
  const Seen coloured = read(colour, 1);
  for (std::size_t i = 0; i < pixels.size(); ++i)
    for (std::size_t c = 0; c < 3; ++c) EXPECT_EQ(coloured.pixels[i * 3 + c], pixels[i]);
}

TEST(Pipeline, GivesTheSameBytesFromItsCache) {
  const Watchdog watchdog;
  const ImageFolder images(2, 5);
  PipelineSettings settings = small_settings();
  Pipeline plain(images.open(), settings, kLargest);
  EXPECT_EQ(settings.cache_bytes(10), 0_B);
  settings.cache = 1_MiB;
  std::atomic<int> reads = 0;
  Pipeline cached(std::make_shared<TappedSource>(images.open(), [&](std::int64_t) { ++reads; }),
                  settings, kLargest);
  EXPECT_GE(settings.cache_bytes(10), Bytes{10 * 9 * 11 * 3});
  plain.start(0, 0);
  cached.start(0, 0);
  EXPECT_EQ(read(cached, 12), read(plain, 12));
  cached.stop();
  EXPECT_LE(reads, 20);  // the same picture may be made twice before it is there
  settings.cache = 100_B;
  EXPECT_EQ(settings.cache_bytes(10), 0_B);
  settings.cache = 1_MiB;
  settings.augment = parse_augment("horizontal_flip");
  EXPECT_EQ(settings.cache_bytes(10), 0_B);
}

TEST(Pipeline, MixesWhatItSaysItMixes) {
  const Watchdog watchdog;
  const ImageFolder images(4, 3);
  PipelineSettings settings = small_settings();
  settings.batch = 12;
  settings.augment = parse_augment("mixup=1");
  Pipeline pipeline(images.open(), settings, kLargest);
  pipeline.start(0, 0);
  const Batch batch = pipeline.next().value();
  ASSERT_EQ(batch.other_labels.size(), 12U);
  float most = 0;
  for (const float share : batch.other_shares) {
    EXPECT_GE(share, 0);
    EXPECT_LE(share, 0.5F);
    most = std::max(most, share);
  }
  EXPECT_GT(most, 0.1F);
}

TEST(Pipeline, RefusesSettingsThatMakeNoSense) {
  const ImageFolder images(1, 2);
  const auto expect_refusal = [&](auto change, const char* text) {
    PipelineSettings settings = small_settings();
    change(settings);
    EXPECT_COMPLAINT(Pipeline(images.open(), settings, kLargest), UsageError, text);
  };
  expect_refusal([](auto& s) { s.batch = 0; }, "a batch of 0");
  expect_refusal([](auto& s) { s.channels = 2; }, "2 channels");
  expect_refusal([](auto& s) { s.depth = 1; }, "a queue of 1");
  expect_refusal([](auto& s) { s.image = {}; }, "no size");
  expect_refusal([](auto& s) { s.workers = 5000; }, "5000 workers");
}

TEST(PipelineBytes, GrowWithEverythingThatIsHeld) {
  const ImageFolder images(2, 5);
  const Index index = images.open()->index();
  PipelineSettings settings = small_settings();
  const PipelineBytes base = pipeline_bytes(settings, index, kLargest);
  EXPECT_GE(base.queue, Bytes{3 * 4 * (9 * 11 * 3 + 12)});
  EXPECT_LE(base.queue, Bytes{3 * (4 * (9 * 11 * 3 + 12) + 3 * 64)});
  EXPECT_EQ(base.total(), base.queue + base.decoders + 2 * base.worker + base.index);
  EXPECT_GE(base.worker, kLargest.decode + index.largest_encoded);
  settings.workers = 4;
  EXPECT_EQ(pipeline_bytes(settings, index, kLargest).total() - base.total(), 2 * base.worker);
}

TEST(PipelineBytes, OfPhotographsAreThoseOfRowsNotOfPictures) {
  const LargestImage photograph = assume_largest(16'000'000, 3);
  EXPECT_LT(photograph.decode, 1_MiB);
  const PipelineSettings settings{
      .batch = 32, .image = {.height = 299, .width = 299}, .depth = 2, .workers = 2};
  const PipelineBytes bytes = pipeline_bytes(settings, {.largest_encoded = 3_MiB}, photograph);
  EXPECT_LE(bytes.total() - bytes.decoders, 24_MiB);
}

TEST(Pipeline, TakesTurnsWithAnotherInTheSameMemory) {
  const Watchdog watchdog;
  const ImageFolder images(3, 7);
  const ImageFolder others(2, 5);
  PipelineSettings in_order = small_settings();
  in_order.shuffle = false;
  in_order.repeat = false;
  const auto memory = std::make_shared<PipelineMemory>(
      with_everything(), images.open()->index().largest_encoded, kLargest);
  Pipeline train(images.open(), with_everything(), memory);
  Pipeline validation(others.open(), in_order, memory);
  Pipeline train_alone(images.open(), with_everything(), kLargest);
  Pipeline validation_alone(others.open(), in_order, kLargest);
  train_alone.start(0, 0);
  for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
    train.start(epoch, 0);
    EXPECT_EQ(read(train, 6), read(train_alone, 6)) << epoch;
    validation.start(0, 0);
    validation_alone.start(0, 0);
    EXPECT_EQ(read(validation, 3), read(validation_alone, 3)) << epoch;
    EXPECT_FALSE(validation.next());
  }
}

}  // namespace
}  // namespace plimsoll
