// Which boxes anchors reach, and which anchors are chosen for them.
#include "job/box_settings.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "tests/support/box_folder.h"
#include "tests/support/shared_data.h"

namespace plimsoll {
namespace {

using testing::HasSubstr;

job::ModelSettings mini(const std::string& image) {
  job::ModelSettings model;
  model.model = "retinanet_mini";
  model.image = image;
  return model;
}

double share_of_class(const std::vector<job::AnchorCoverage>& found, const std::string& name) {
  for (const job::AnchorCoverage& one : found)
    if (one.name == name) return one.share();
  ADD_FAILURE() << "no class " << name;
  return -1;
}

// The figures were computed beside torchvision's anchors, over all anchors of the canvas.
TEST(AnchorCoverage, OfBloodCellsIsWhatTorchvisionsAnchorsReach) {
  SHARED_DATA_OR_SKIP(folder, "bccd");
  const SourcePtr source = open_source(folder);
  const auto at = [&](std::int64_t base) {
    return job::anchor_coverage(mini("192x256"), *source, base);
  };
  EXPECT_NEAR(share_of_class(at(16), "Platelets"), 0.88, 0.01);
  EXPECT_GE(share_of_class(at(16), "RBC"), 0.99);
  EXPECT_GE(share_of_class(at(16), "WBC"), 0.99);
  EXPECT_LE(share_of_class(at(32), "Platelets"), 0.05);
}

// One size a level from stride 4 on: octaves apart, three shapes each.
TEST(AnchorCoverage, OfTwoStagesIsThatOfTheirOwnAnchors) {
  SHARED_DATA_OR_SKIP(folder, "bccd");
  const SourcePtr source = open_source(folder);
  job::ModelSettings model = mini("192x256");
  model.model = "fasterrcnn_mini";
  const std::vector<Cells> levels = model.levels();
  ASSERT_EQ(levels.size(), 4U);
  EXPECT_EQ(levels[0].rows, 48);
  EXPECT_EQ(levels[0].anchors, 3);
  EXPECT_GE(share_of_class(job::anchor_coverage(model, *source, 16), "Platelets"), 0.98);
  EXPECT_LE(share_of_class(job::anchor_coverage(model, *source, 40), "Platelets"), 0.05);
  job::BoxSettings boxes{.anchors = "auto"};
  boxes.settle(model, *source, nullptr);
  EXPECT_TRUE(job::is_well_covered(job::anchor_coverage(model, *source, boxes.anchor_base)));
}

TEST(AnchorCoverage, ChoosesAnchorsThatReachTheWorstClass) {
  SHARED_DATA_OR_SKIP(folder, "bccd");
  const SourcePtr source = open_source(folder);
  job::BoxSettings boxes{.anchors = "auto"};
  boxes.settle(mini("192x256"), *source, nullptr);
  const auto chosen = job::anchor_coverage(mini("192x256"), *source, boxes.anchor_base);
  for (const std::int64_t other : {12, 16, 20, 24, 32, 48})
    EXPECT_GE(share_of_class(chosen, "Platelets") + 0.01,
              share_of_class(job::anchor_coverage(mini("192x256"), *source, other), "Platelets"))
        << boxes.anchor_base << " and " << other;
  EXPECT_GT(share_of_class(chosen, "RBC"), 0.95) << boxes.anchor_base;
}

TEST(AnchorCoverage, IsToldWithAdviceWhereItIsPoor) {
  const std::string poor = job::coverage_text({{"a", 10, 10}, {"b", 10, 3}, {"c", 0, 0}}, 32);
  EXPECT_THAT(poor, HasSubstr("anchors from 32 px reach a 100 %, b 30 % of the boxes"));
  EXPECT_THAT(poor, HasSubstr("--anchors auto"));
  EXPECT_EQ(job::coverage_text({{"a", 10, 10}}, 8), "anchors from 8 px reach a 100 % of the boxes");
}

TEST(BoxSettings, TakeTheirSizesFromBothParts) {
  const BoxFolder folder(8);
  const SourcePtr train = open_source(folder.path(), {.part = "train"});
  const SourcePtr validation = open_source(folder.path(), {.part = "val"});
  job::BoxSettings boxes;
  boxes.settle(mini("64x96"), *train, validation.get());
  EXPECT_EQ(boxes.most_boxes, 3) << "of the validated pictures";
  EXPECT_EQ(boxes.most_truths, 3);
  EXPECT_EQ(boxes.anchor_base, 16);
  boxes.settle(mini("64x96"), *train, nullptr);
  EXPECT_EQ(boxes.most_boxes, 2);
}

TEST(BoxSettings, RefuseAnchorsThatAreNone) {
  for (const char* text : {"0", "3", "-3", "16px", "99999", "autos", " 16"})
    EXPECT_THROW(job::BoxSettings{.anchors = text}.check(), UsageError) << text;
  for (const char* text : {"", "auto", "24"})
    EXPECT_NO_THROW(job::BoxSettings{.anchors = text}.check()) << text;
}

}  // namespace
}  // namespace plimsoll
