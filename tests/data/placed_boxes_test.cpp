#include "data/batch/placed_boxes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "data/picture/orientation.h"
#include "data/source/record_parser.h"
#include "tests/support/boxed_source.h"
#include "tests/support/complaints.h"

namespace plimsoll {
namespace {

using testing::ElementsAre;
using tests::BoxedSource;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr Size kFrame{.height = 100, .width = 200};

// One picture of kFrame with these boxes, on a canvas that it covers so much of.
std::vector<PlacedBox> place(const std::vector<Box>& boxes, Size extent, const Draw& draw = {},
                             std::optional<Rect> crop = {}, int orientation = 1) {
  BoxedSource source;
  source.add("", boxes, kFrame);
  source.finish({"a", "b"});
  const Size image = upright(kFrame, orientation);
  std::vector<PlacedBox> placed(static_cast<std::size_t>(source.index().max_boxes));
  const std::int64_t count =
      place_boxes(source, 0, {.image = image, .extent = extent, .orientation = orientation},
                  crop.value_or(Rect{0, 0, image.width, image.height}), draw, placed);
  placed.resize(static_cast<std::size_t>(count));
  return placed;
}

TEST(PlacedBoxes, AreScaledWithThePicture) {
  const Box box{.x0 = 20, .y0 = 10, .x1 = 60, .y1 = 50, .label = 1};
  EXPECT_THAT(place({box}, {50, 100}),
              ElementsAre(PlacedBox{.x0 = 10, .y0 = 5, .x1 = 30, .y1 = 25, .label = 1}));
  // By f32(new) / f32(old), as torchvision's ratio of sizes is.
  const float ratio = 171.0F / 100.0F;
  const PlacedBox placed = place({box}, {171, 333})[0];
  EXPECT_EQ(placed.y0, 10 * ratio);
  EXPECT_EQ(placed.y1, 50 * ratio);
  EXPECT_EQ(placed.x1, 60 * (333.0F / 200.0F));
}

TEST(PlacedBoxes, AreMirroredWithinTheExtent) {
  const Box box{.x0 = 20, .y0 = 10, .x1 = 60, .y1 = 50};
  Draw draw;
  draw.horizontal_flip = true;
  EXPECT_THAT(place({box}, kFrame, draw),
              ElementsAre(PlacedBox{.x0 = 140, .y0 = 10, .x1 = 180, .y1 = 50}));
  draw.vertical_flip = true;
  EXPECT_THAT(place({box}, {50, 100}, draw),
              ElementsAre(PlacedBox{.x0 = 70, .y0 = 25, .x1 = 90, .y1 = 45}));
}

TEST(PlacedBoxes, NeverLeaveTheExtent) {
  for (std::int64_t side = 1; side < 400; ++side) {
    Draw draw;
    draw.horizontal_flip = side % 2 == 0;
    for (const PlacedBox& box :
         place({{.x0 = -7, .y0 = -1, .x1 = 230, .y1 = 130}}, {side, side}, draw)) {
      EXPECT_NEAR(box.x0, 0, 1e-4);
      EXPECT_GE(box.x0, 0);
      EXPECT_EQ(box.y0, 0);
      EXPECT_NEAR(box.x1, static_cast<float>(side), 1e-4);
      EXPECT_LE(box.x1, static_cast<float>(side));
      EXPECT_LE(box.y1, static_cast<float>(side));
    }
  }
}

TEST(PlacedBoxes, OfAPictureThatWasCutStayIfTheirCentreDid) {
  const Rect crop{.x = 50, .y = 20, .width = 100, .height = 50};
  const std::vector<Box> boxes = {
      {.x0 = 40, .y0 = 30, .x1 = 80, .y1 = 60},    // clipped on the left
      {.x0 = 20, .y0 = 30, .x1 = 70, .y1 = 60},    // its centre is outside
      {.x0 = 140, .y0 = 60, .x1 = 159, .y1 = 79},  // clipped at the corner
      {.x0 = 60, .y0 = 30, .x1 = 61, .y1 = 40},    // less than a pixel wide on the canvas
      {.x0 = 0, .y0 = 0, .x1 = 200, .y1 = 100},    // all of it
  };
  EXPECT_THAT(place(boxes, {25, 50}, {}, crop),
              ElementsAre(PlacedBox{.x0 = 0, .y0 = 5, .x1 = 15, .y1 = 20},
                          PlacedBox{.x0 = 45, .y0 = 20, .x1 = 50, .y1 = 25},
                          PlacedBox{.x0 = 0, .y0 = 0, .x1 = 50, .y1 = 25}));
  // A picture that is shown whole keeps what is small.
  EXPECT_EQ(place(boxes, {25, 50}).size(), 5U);
}

TEST(PlacedBoxes, AreTurnedAsThePictureIs) {
  // A stored picture of 200 x 100, shown upright as 100 x 200: its top is on the right.
  EXPECT_THAT(place({{.x0 = 20, .y0 = 10, .x1 = 60, .y1 = 50}}, {100, 50}, {}, {}, 6),
              ElementsAre(PlacedBox{.x0 = 25, .y0 = 10, .x1 = 45, .y1 = 30}));
}

TEST(PlacedBoxes, AreThoseThatTrainingShows) {
  const float far = 1e30F;
  const std::vector<Box> boxes = {
      {.x0 = 60, .y0 = 10, .x1 = 20, .y1 = 50},    // inverted
      {.x0 = 20, .y0 = 10, .x1 = 20, .y1 = 50},    // empty
      {.x0 = 201, .y0 = 10, .x1 = 220, .y1 = 50},  // outside
      {.x0 = kNaN, .y0 = 10, .x1 = 20, .y1 = 50},
      {.x0 = 0, .y0 = 10, .x1 = 20, .y1 = kNaN},
      {.x0 = 0, .y0 = 0, .x1 = far, .y1 = far},
      {.x0 = -far, .y0 = 0, .x1 = 20, .y1 = 20},
      {.x0 = 20, .y0 = 10, .x1 = 60, .y1 = 50, .crowd = true},
      {.x0 = 1, .y0 = 1, .x1 = 3, .y1 = 3, .label = 1, .difficult = true}};
  EXPECT_THAT(place(boxes, kFrame),
              ElementsAre(PlacedBox{.x0 = 1, .y0 = 1, .x1 = 3, .y1 = 3, .label = 1}));
  BoxedSource source;
  source.add("", boxes, kFrame);
  source.add("", {}, {});
  source.add("", {boxes[0], boxes[7]}, kFrame);
  source.finish({"a", "b"});
  const Index& index = source.index();
  EXPECT_EQ(index.boxes, 11);
  EXPECT_EQ(index.unusable_boxes, 8);
  EXPECT_EQ(index.crowds, 2);
  EXPECT_EQ(index.max_boxes, 1);
  EXPECT_EQ(index.max_truths, 9);
  EXPECT_EQ(index.background, 2);
}

TEST(PlacedBoxes, HaveAnAreaHoweverSmallTheyWere) {
  EXPECT_TRUE(place({{.x0 = 199.99999F, .y0 = 10, .x1 = 200, .y1 = 50}}, {1, 1}).size() <= 1);
  for (const PlacedBox& box : place({{.x0 = 199.9999F, .y0 = 10, .x1 = 200, .y1 = 50},
                                     {.x0 = 1e-38F, .y0 = 10, .x1 = 2e-38F, .y1 = 50}},
                                    {3, 3}))
    EXPECT_TRUE(box.x1 > box.x0 && box.y1 > box.y0);
}

TEST(UprightTruth, IsAllThatIsAnnotated) {
  BoxedSource source;
  const std::vector<Box> boxes = {{.x0 = 20, .y0 = 10, .x1 = 60, .y1 = 50, .crowd = true},
                                  {.x0 = 60, .y0 = 10, .x1 = 20, .y1 = 50},
                                  {.x0 = 0, .y0 = 0, .x1 = 2, .y1 = 3, .difficult = true}};
  source.add("", boxes, kFrame);
  source.finish({"a"});
  const CanvasPlacement lying{.image = kFrame, .extent = {10, 20}};
  const std::vector<Box> truth = upright_truth(source, 0, lying);
  ASSERT_EQ(truth.size(), 3U);
  EXPECT_TRUE(std::ranges::equal(truth, source.boxes(0)));
  EXPECT_FALSE(is_usable(truth[1], lying.image));
  const CanvasPlacement turned{.image = {200, 100}, .extent = {20, 10}, .orientation = 6};
  const std::vector<Box> upright = upright_truth(source, 0, turned);
  EXPECT_EQ(upright[0], (Box{.x0 = 50, .y0 = 20, .x1 = 90, .y1 = 60, .crowd = true, .area = 1600}));
  EXPECT_FALSE(is_usable(upright[1], turned.image));
}

TEST(Fractions, OfWholePixelsAreThosePixels) {
  for (const std::int64_t side : {1, 3, 7, 480, 640, 1333, 4032, 99'991})
    for (std::int64_t n = 0; n <= std::min<std::int64_t>(side, 2000); ++n) {
      const float pixel = static_cast<float>(n);
      // Divided in double and rounded, or in f32, or multiplied by the reciprocal.
      const double exact = static_cast<double>(n) / static_cast<double>(side);
      EXPECT_EQ(pixels_of(static_cast<float>(exact), side), pixel);
      EXPECT_EQ(pixels_of(pixel / static_cast<float>(side), side), pixel);
    }
  EXPECT_EQ(pixels_of(0.5F, 25), 12.5F);
  EXPECT_EQ(pixels_of(-0.25F, 100), -25);
  EXPECT_FLOAT_EQ(pixels_of(0.123456F, 640), 0.123456F * 640);
  EXPECT_TRUE(std::isnan(pixels_of(kNaN, 640)));
  EXPECT_EQ(pixels_of(std::numeric_limits<float>::infinity(), 640), 1e30F);
}

TEST(Augment, ThatBoxesDoNotFollowIsRefusedByName) {
  for (const char* text : {"rotation_range=5", "width_shift_range=0.1", "height_shift_range=3",
                           "shear_range=5", "zoom_range=0.2", "cutout=0.3", "mixup=0.2"}) {
    const std::string name(text, std::string_view(text).find('='));
    EXPECT_COMPLAINT(check_for_boxes(parse_augment(text), "--augment"), UsageError, name);
    EXPECT_COMPLAINT(check_for_boxes(parse_augment(text), "--augment"), UsageError,
                     "horizontal_flip, vertical_flip, random_resized_crop");
  }
  EXPECT_NO_THROW(check_for_boxes(
      parse_augment("horizontal_flip,vertical_flip,random_resized_crop,brightness_range=0.8:1.2,"
                    "contrast=0.1,saturation=0.1,hue=0.05,channel_shift_range=9,rescale=0.5")));
}

}  // namespace
}  // namespace plimsoll
