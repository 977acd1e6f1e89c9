// Batches with boxes: the same however they are made, in memory that is known before.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/batch/pipeline_memory.h"
#include "data/batch/placed_boxes.h"
#include "data/picture/orientation.h"
#include "tests/support/allocation_counter.h"
#include "tests/support/boxed_source.h"
#include "tests/support/complaints.h"
#include "tests/support/golden_images.h"
#include "tests/support/image_folder.h"
#include "tests/support/small_pipeline.h"
#include "tests/support/watchdog.h"

namespace plimsoll {
namespace {

using tests::boxed_pictures;
using tests::BoxedSource;

PipelineSettings boxed_settings() {
  PipelineSettings settings = small_settings();
  settings.image = {.height = 24, .width = 32};
  settings.fit = Fit::letterbox;
  settings.most_boxes = 4;
  settings.augment = parse_augment(
      "horizontal_flip,vertical_flip,random_resized_crop=0.3:1,brightness_range=0.8:1.2,hue=0.1");
  return settings;
}

// Everything that a consumer sees of boxes, and of pixels.
struct SeenBoxes {
  Seen seen;
  std::vector<CanvasPlacement> placements;
  std::vector<std::int32_t> counts;
  std::vector<PlacedBox> boxes;

  bool operator==(const SeenBoxes&) const = default;
  void add(const Batch& batch) {
    seen.add(batch);
    placements.insert(placements.end(), batch.placements.begin(), batch.placements.end());
    counts.insert(counts.end(), batch.box_counts.begin(), batch.box_counts.end());
    for (std::size_t i = 0; i < batch.box_counts.size(); ++i) {
      const auto mine = batch.boxes.subspan(i * static_cast<std::size_t>(batch.most_boxes),
                                            static_cast<std::size_t>(batch.box_counts[i]));
      boxes.insert(boxes.end(), mine.begin(), mine.end());
    }
  }
};

SeenBoxes read_boxes(Pipeline& pipeline, int batches) {
  SeenBoxes seen;
  for (int i = 0; i < batches; ++i) seen.add(pipeline.next().value());
  return seen;
}

TEST(BoxedBatches, AreTheSameWithAnyNumberOfWorkers) {
  const Watchdog watchdog;
  SeenBoxes first;
  for (const int workers : {1, 2, 8}) {
    PipelineSettings settings = boxed_settings();
    settings.workers = workers;
    Pipeline pipeline(boxed_pictures(), settings, kLargest);
    pipeline.start(0, 0);
    const SeenBoxes seen = read_boxes(pipeline, 12);
    if (workers == 1) first = seen;
    EXPECT_EQ(seen, first) << workers << " workers";
  }
  EXPECT_EQ(first.placements.size(), 39U);  // three epochs
  EXPECT_GT(first.boxes.size(), 20U);
}

TEST(BoxedBatches, AreTheSameFromAnyPosition) {
  const Watchdog watchdog;
  Pipeline pipeline(boxed_pictures(), boxed_settings(), kLargest);
  pipeline.start(0, 0);
  std::vector<SeenBoxes> batches;
  std::vector<std::pair<std::int64_t, std::int64_t>> places;
  for (int i = 0; i < 8; ++i) {
    const Batch batch = pipeline.next().value();
    places.emplace_back(batch.epoch, batch.first);
    batches.emplace_back().add(batch);
  }
  for (std::size_t i = 0; i < batches.size(); ++i) {
    pipeline.start(places[i].first, places[i].second);
    EXPECT_EQ(read_boxes(pipeline, 1), batches[i]) << i;
  }
}

TEST(BoxedBatches, HaveTheBoxesOfTheirSamplesWhereThePixelsAre) {
  const Watchdog watchdog;
  // A white rectangle on black, and its box.
  auto source = std::make_shared<BoxedSource>();
  for (int n = 0; n < 6; ++n) {
    const int width = 60 + 10 * n;
    const int height = 100 - 8 * n;
    std::string bmp = bmp_image(width, height, 0);
    const int row = (width * 3 + 3) / 4 * 4;
    for (int y = 0; y < height; ++y)
      for (int x = 0; x < width * 3; ++x) {
        const bool inside = x / 3 >= 8 && x / 3 < 40 && y >= 12 && y < 52;
        // Rows of a BMP begin at the bottom.
        bmp[static_cast<std::size_t>(54 + (height - 1 - y) * row + x)] =
            static_cast<char>(inside ? 255 : 0);
      }
    source->add(bmp, {{.x0 = 8, .y0 = 12, .x1 = 40, .y1 = 52, .label = n}},
                {.height = height, .width = width});
  }
  source->finish({"a", "b", "c", "d", "e", "f"});
  PipelineSettings settings = boxed_settings();
  settings.image = {.height = 96, .width = 128};
  settings.most_boxes = 1;
  for (const Fit fit : {Fit::letterbox, Fit::squeeze})
    for (const char* augment :
         {"none", "horizontal_flip,vertical_flip", "horizontal_flip,random_resized_crop=0.6:1"}) {
      SCOPED_TRACE(augment);
      settings.fit = fit;
      settings.augment = parse_augment(augment);
      Pipeline pipeline(source, settings, kLargest);
      pipeline.start(0, 0);
      for (int b = 0; b < 6; ++b) {
        const Batch batch = pipeline.next().value();
        for (std::size_t i = 0; i < static_cast<std::size_t>(batch.count); ++i) {
          if (batch.box_counts[i] == 0) continue;  // cut away
          const PlacedBox& box = batch.boxes[i];
          EXPECT_EQ(box.label, batch.samples[i]);
          std::int64_t wrong = 0;
          for (std::int64_t y = 0; y < 96; ++y)
            for (std::int64_t x = 0; x < 128; ++x) {
              const int level =
                  batch.pixels[(i * 96 * 128 + static_cast<std::size_t>(y * 128 + x)) * 3];
              const float at_x = static_cast<float>(x) + 0.5F;
              const float at_y = static_cast<float>(y) + 0.5F;
              const bool inside = at_x > box.x0 && at_x < box.x1 && at_y > box.y0 && at_y < box.y1;
              const float edge = std::min({std::abs(at_x - box.x0), std::abs(at_x - box.x1),
                                           std::abs(at_y - box.y0), std::abs(at_y - box.y1)});
              wrong += edge > 1.5F && inside != (level > 127);
            }
          EXPECT_EQ(wrong, 0) << "sample " << batch.samples[i];
        }
      }
    }
}

TEST(BoxedBatches, OfPicturesTurnedByExifHaveThemUpright) {
  const Watchdog watchdog;
  auto source = std::make_shared<BoxedSource>();
  std::vector<ImageInfo> infos;
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const std::vector<std::byte> bytes =
        tests::golden_file("turned" + std::to_string(orientation) + ".jpg");
    infos.push_back(probe_image(bytes, "turned"));
    // In the stored frame: what lies at its upper left.
    source->add(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()),
                {{.x0 = 0, .y0 = 0, .x1 = 3, .y1 = 2}},
                {.height = infos.back().stored_height, .width = infos.back().stored_width});
  }
  source->finish({"a"});
  PipelineSettings settings = boxed_settings();
  settings.augment = {};
  settings.shuffle = false;
  settings.batch = 8;
  Pipeline pipeline(source, settings, kLargest);
  pipeline.start(0, 0);
  const Batch batch = pipeline.next().value();
  for (std::size_t i = 0; i < 8; ++i) {
    SCOPED_TRACE(i + 1);
    const CanvasPlacement& placement = batch.placements[i];
    EXPECT_EQ(placement.orientation, infos[i].orientation);
    EXPECT_EQ(placement.image, infos[i].size());
    EXPECT_EQ(placement.extent, extent_of(infos[i].size(), settings.image, Fit::letterbox));
    const Turn turn = turn_of(infos[i].orientation);
    const Box truth = upright_truth(*source, batch.samples[i], placement)[0];
    EXPECT_EQ(truth.x1 - truth.x0, turn.transpose ? 2 : 3);
    EXPECT_EQ(truth.x0 == 0, !turn.mirror_x);
    EXPECT_EQ(truth.y0 == 0, !turn.mirror_y);
    const auto ratio =
        static_cast<float>(placement.extent.width) / static_cast<float>(placement.image.width);
    EXPECT_FLOAT_EQ(batch.boxes[i * 4].x1, truth.x1 * ratio);
  }
}

TEST(BoxedBatches, AreTheSameFromTheCache) {
  const Watchdog watchdog;
  PipelineSettings settings = boxed_settings();
  settings.augment = {};
  Pipeline plain(boxed_pictures(), settings, kLargest);
  settings.cache = 1_MiB;
  Pipeline cached(boxed_pictures(), settings, kLargest);
  EXPECT_GT(settings.cache_bytes(13), 0_B);
  plain.start(0, 0);
  cached.start(0, 0);
  EXPECT_EQ(read_boxes(cached, 16), read_boxes(plain, 16));
}

TEST(BoxedBatches, LeaveClassificationAsItWas) {
  const Watchdog watchdog;
  const ImageFolder images(2, 5);
  Pipeline pipeline(images.open(), small_settings(), kLargest);
  pipeline.start(0, 0);
  const Batch batch = pipeline.next().value();
  EXPECT_TRUE(batch.placements.empty());
  EXPECT_TRUE(batch.boxes.empty());
  EXPECT_EQ(batch.most_boxes, 0);
}

TEST(BoxedBatches, TakeTheirBytesAndNoMore) {
  PipelineSettings settings = boxed_settings();
  settings.most_boxes = 0;
  settings.fit = Fit::squeeze;
  const Bytes plain = PipelineMemory::slot_bytes(settings);
  settings.fit = Fit::letterbox;
  const Bytes placed = PipelineMemory::slot_bytes(settings);
  EXPECT_EQ(placed - plain, Bytes{3 * Room::rounded(4 * std::int64_t{sizeof(CanvasPlacement)})});
  settings.most_boxes = 30;
  const Bytes some = PipelineMemory::slot_bytes(settings);
  settings.most_boxes = 10'000;
  const Bytes many = PipelineMemory::slot_bytes(settings);
  // 20 bytes a box: of 4 samples in each of 3 batches.
  EXPECT_EQ(many - some, Bytes{3 * (Room::rounded(4 * 10'000 * 20) - Room::rounded(4 * 30 * 20))});
  EXPECT_EQ(PipelineMemory::worker_bytes(settings, 1_KiB, kLargest), [&] {
    settings.most_boxes = 30;
    return PipelineMemory::worker_bytes(settings, 1_KiB, kLargest);
  }());
}

TEST(BoxedBatches, HoldTenThousandBoxesOfOnePicture) {
  const Watchdog watchdog;
  auto source = std::make_shared<BoxedSource>();
  std::vector<Box> boxes;
  for (int n = 0; n < 10'000; ++n) {
    const auto x = static_cast<float>(n % 100);
    const auto y = static_cast<float>(n / 100);
    boxes.push_back({.x0 = x, .y0 = y, .x1 = x + 2, .y1 = y + 2, .label = n % 3});
  }
  source->add({.height = 101, .width = 101}, boxes);
  source->add({.height = 50, .width = 70}, {boxes[0]});
  source->finish({"a", "b", "c"});
  EXPECT_EQ(source->index().max_boxes, 10'000);
  PipelineSettings settings = boxed_settings();
  settings.augment = parse_augment("horizontal_flip");
  settings.most_boxes = source->index().max_boxes;
  settings.batch = 2;
  Pipeline pipeline(source, settings, kLargest);
  pipeline.start(0, 0);
  for (int b = 0; b < 4; ++b) {
    const Batch batch = pipeline.next().value();
    for (std::size_t i = 0; i < 2; ++i)
      EXPECT_EQ(batch.box_counts[i], batch.samples[i] == 0 ? 10'000 : 1);
  }
  pipeline.stop();
  std::vector<PlacedBox> room(10'000);
  const CanvasPlacement placement{.image = {101, 101}, .extent = {24, 24}};
  const std::int64_t before = allocations_so_far();
  EXPECT_EQ(place_boxes(*source, 0, placement, {0, 0, 101, 101}, {}, room), 10'000);
  EXPECT_EQ(allocations_so_far(), before);
}

TEST(BoxedBatches, RefuseWhatTheyCannotHold) {
  const auto expect_refusal = [](auto change, const char* text) {
    PipelineSettings settings = boxed_settings();
    change(settings);
    EXPECT_COMPLAINT(Pipeline(boxed_pictures(), settings, kLargest), UsageError, text);
  };
  expect_refusal([](auto& s) { s.most_boxes = 3; }, "up to 4 boxes");
  expect_refusal([](auto& s) { s.most_boxes = -1; }, "-1 boxes");
  expect_refusal([](auto& s) { s.augment = parse_augment("rotation_range=5"); },
                 "rotation_range=5");
  expect_refusal(
      [](auto& s) {
        s.most_boxes = 0;
        s.augment = parse_augment("mixup=0.4");
      },
      "mixup");
}

}  // namespace
}  // namespace plimsoll
