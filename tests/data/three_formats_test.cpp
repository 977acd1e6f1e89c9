// The same pictures as Pascal VOC, as COCO JSON and as TFRecords are the same batches.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "data/batch/placed_boxes.h"
#include "data/source/open_source.h"
#include "tests/support/shared_data.h"
#include "tests/support/small_pipeline.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/watchdog.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

TEST(ThreeFormats, OfBloodCellsGiveTheSameBatches) {
  SHARED_DATA_OR_SKIP(voc, "bccd");
  if (std::system("python3 -c '' 2> /dev/null") != 0) GTEST_SKIP() << "no python3";
  const Watchdog watchdog(std::chrono::seconds(300));
  const TemporaryFolder folder;
  const fs::path tool = fs::path(PLIMSOLL_TESTS_DIR).parent_path() / "tools" / "convert_voc";
  const std::string command = "python3 '" + tool.string() + "' '" + voc.string() + "' '" +
                              folder.path().string() + "' test > /dev/null";
  ASSERT_EQ(std::system(command.c_str()), 0);
  const std::vector<SourcePtr> sources = {open_source(voc, {.part = "test"}),
                                          open_source(folder / "coco", {.part = "test"}),
                                          open_source(folder / "tfrecord" / "test.record")};
  std::vector<std::unique_ptr<Pipeline>> pipelines;
  for (const SourcePtr& source : sources) {
    EXPECT_TRUE(source->defects().empty());
    EXPECT_EQ(source->size(), 72);
    EXPECT_EQ(source->index().boxes, 945);
    EXPECT_EQ(source->class_names(), sources[0]->class_names());
    EXPECT_EQ(source->index().max_boxes, sources[0]->index().max_boxes);
    EXPECT_EQ(source->index().unusable_boxes, sources[0]->index().unusable_boxes);
    const PipelineSettings settings{
        .batch = 8,
        .image = {.height = 192, .width = 256},
        .augment = parse_augment("horizontal_flip,vertical_flip,brightness_range=0.8:1.2"),
        .fit = Fit::letterbox,
        .most_boxes = source->index().max_boxes,
        .seed = 3,
        .workers = 1};
    pipelines.push_back(std::make_unique<Pipeline>(source, settings, assume_largest(640 * 480, 3)));
    pipelines.back()->start(0, 0);
  }
  for (std::int64_t b = 0; b < 2 * pipelines[0]->batches_per_epoch(); ++b) {
    const Batch first = pipelines[0]->next().value();
    for (std::size_t p = 1; p < pipelines.size(); ++p) {
      SCOPED_TRACE(sources[p]->index().kind);
      const Batch batch = pipelines[p]->next().value();
      EXPECT_EQ(batch.epoch, first.epoch);
      EXPECT_TRUE(std::ranges::equal(batch.samples, first.samples));
      EXPECT_TRUE(std::ranges::equal(batch.pixels, first.pixels));
      EXPECT_TRUE(std::ranges::equal(batch.placements, first.placements));
      EXPECT_TRUE(std::ranges::equal(batch.box_counts, first.box_counts));
      for (std::size_t i = 0; i < static_cast<std::size_t>(batch.count); ++i) {
        const auto at = i * static_cast<std::size_t>(batch.most_boxes);
        const auto count = static_cast<std::size_t>(first.box_counts[i]);
        ASSERT_TRUE(
            std::ranges::equal(batch.boxes.subspan(at, count), first.boxes.subspan(at, count)));
        EXPECT_EQ(upright_truth(*sources[p], batch.samples[i], batch.placements[i]),
                  upright_truth(*sources[0], first.samples[i], first.placements[i]));
      }
    }
  }
}

}  // namespace
}  // namespace plimsoll
