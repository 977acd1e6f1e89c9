#include "data/picture/augment.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/complaints.h"

namespace plimsoll {
namespace {

TEST(Augment, TextReadsBack) {
  for (const char* text :
       {"none", "horizontal_flip", "rotation_range=20,horizontal_flip,vertical_flip",
        "width_shift_range=0.1,height_shift_range=3,brightness_range=0.8:1.2,shear_range=12.5",
        "zoom_range=0.75:1.5,channel_shift_range=30,fill_mode=constant,cval=7,rescale=0.00392",
        "random_resized_crop=0.35:1:0.75:1.5,contrast=0.5:1.5,saturation=0.9:1.1,hue=0.05",
        "cutout=0.25,mixup=0.2"})
    EXPECT_EQ(to_text(parse_augment(text)), text);
}

TEST(Augment, ShortFormsMeanWhatKerasMeans) {
  EXPECT_EQ(parse_augment(""), Augment{});
  EXPECT_EQ(parse_augment(" zoom_range = 0.25 ").zoom_range, (Range{0.75, 1.25}));
  EXPECT_EQ(parse_augment("contrast=0.25").contrast, (Range{0.75, 1.25}));
  EXPECT_EQ(parse_augment("random_resized_crop").random_resized_crop, RandomResizedCrop{});
  EXPECT_EQ(parse_augment("random_resized_crop=0.35:1").random_resized_crop->scale,
            (Range{0.35, 1}));
  EXPECT_FALSE(parse_augment("horizontal_flip=false").horizontal_flip);
}

TEST(Augment, RefusesWithTheNearestName) {
  EXPECT_COMPLAINT(parse_augment("horizontl_flip"), UsageError, "did you mean 'horizontal_flip'?");
  EXPECT_COMPLAINT(parse_augment("zoom_range=0.1,"), UsageError, "no augmentation is named ''");
  EXPECT_COMPLAINT(parse_augment("hue=0.1,hue=0.2"), UsageError, "hue given twice");
  EXPECT_COMPLAINT(parse_augment("rotation_range"), UsageError, "expected degrees");
  EXPECT_COMPLAINT(parse_augment("rotation_range=200"), UsageError, "expected degrees");
  EXPECT_COMPLAINT(parse_augment("zoom_range=1"), UsageError, "zoom_range=1");
  EXPECT_COMPLAINT(parse_augment("zoom_range=1.2:0.8"), UsageError, "zoom_range=1.2:0.8");
  EXPECT_COMPLAINT(parse_augment("mixup=nan"), UsageError, "expected alpha");
  EXPECT_COMPLAINT(parse_augment("fill_mode=mirror"), UsageError, "constant, nearest, reflect");
  EXPECT_COMPLAINT(parse_augment("random_resized_crop=0.5:2"), UsageError, "expected scale");
  EXPECT_COMPLAINT(parse_augment("horizontal_flip=2"), UsageError, "true or false");
}

const Augment kAll = parse_augment(
    "rotation_range=20,width_shift_range=0.1,height_shift_range=5,brightness_range=0.8:1.2,"
    "shear_range=10,zoom_range=0.3,channel_shift_range=20,horizontal_flip,vertical_flip,"
    "random_resized_crop=0.35:1,contrast=0.5,saturation=0.5,hue=0.1,cutout=0.25,mixup=0.4");

std::vector<double> numbers(const Draw& draw) {
  return {draw.rotation,
          draw.shear,
          draw.zoom_x,
          draw.zoom_y,
          draw.shift_x_share,
          draw.shift_y_pixels,
          draw.channel_shift,
          draw.brightness,
          draw.contrast,
          draw.saturation,
          draw.hue,
          draw.crop_at.low,
          draw.crop_at.high,
          (*draw.crop)[0].area,
          (*draw.crop)[0].ratio,
          draw.cutout_at.low,
          draw.mixup};
}

TEST(Draw, IsAFunctionOfSeedEpochAndIndex) {
  const std::vector<double> one = numbers(draw_augment(kAll, 7, 3, 1000));
  EXPECT_EQ(numbers(draw_augment(kAll, 7, 3, 1000)), one);
  for (const Draw& other : {draw_augment(kAll, 8, 3, 1000), draw_augment(kAll, 7, 4, 1000),
                            draw_augment(kAll, 7, 3, 1001)}) {
    const std::vector<double> two = numbers(other);
    for (std::size_t i = 0; i < one.size(); ++i) EXPECT_NE(one[i], two[i]) << i;
  }
}

TEST(Draw, OfNothingLeavesAPictureAsItIs) {
  const Draw draw = draw_augment({}, 1, 2, 3);
  EXPECT_FALSE(draw.is_affine());
  EXPECT_FALSE(draw.horizontal_flip || draw.vertical_flip);
  EXPECT_EQ(draw.brightness, 1);
  EXPECT_EQ(draw.channel_shift, 0);
  EXPECT_EQ(crop_of(draw, {20, 30}), (Rect{0, 0, 30, 20}));
}

TEST(Draw, StaysInItsRangesAndFillsThem) {
  constexpr int kSamples = 4000;
  int flips = 0;
  std::vector<double> least;
  std::vector<double> most;
  double mixed = 0;
  for (int i = 0; i < kSamples; ++i) {
    const Draw draw = draw_augment(kAll, 1, 0, i);
    flips += draw.horizontal_flip ? 1 : 0;
    mixed += draw.mixup;
    const std::vector<double> now = numbers(draw);
    if (i == 0) least = most = now;
    for (std::size_t k = 0; k < now.size(); ++k) {
      least[k] = std::min(least[k], now[k]);
      most[k] = std::max(most[k], now[k]);
    }
  }
  const std::vector<Range> ranges = {{-20, 20},   {-10, 10}, {0.7, 1.3}, {0.7, 1.3}, {-0.1, 0.1},
                                     {-5, 5},     {-20, 20}, {0.8, 1.2}, {0.5, 1.5}, {0.5, 1.5},
                                     {-0.1, 0.1}, {0, 1},    {0, 1},     {0.35, 1},  {0.75, 4. / 3},
                                     {0, 1},      {0, 0.5}};
  for (std::size_t k = 0; k < ranges.size(); ++k) {
    const double width = ranges[k].high - ranges[k].low;
    EXPECT_GE(least[k], ranges[k].low) << k;
    EXPECT_LE(most[k], ranges[k].high + 1e-12) << k;
    EXPECT_NEAR(least[k], ranges[k].low, 0.01 * width) << k;
    EXPECT_NEAR(most[k], ranges[k].high, 0.01 * width) << k;
  }
  EXPECT_NEAR(flips, kSamples / 2, 150);
  // The mean of min(x, 1 - x) for Beta(0.4, 0.4), by numerical integration.
  EXPECT_NEAR(mixed / kSamples, 0.1605, 0.01);
}

TEST(Crop, LiesWithinEveryImage) {
  for (const Size image : {Size{1, 1}, Size{375, 500}, Size{3000, 20}, Size{20, 3000}})
    for (int i = 0; i < 200; ++i) {
      const Rect crop = crop_of(draw_augment(kAll, 1, 0, i), image);
      ASSERT_GE(crop.x, 0);
      ASSERT_GE(crop.y, 0);
      ASSERT_GE(crop.width, 1);
      ASSERT_GE(crop.height, 1);
      ASSERT_LE(crop.x + crop.width, image.width);
      ASSERT_LE(crop.y + crop.height, image.height);
      if (image != Size{375, 500}) continue;
      const auto area = static_cast<double>(crop.width * crop.height);
      ASSERT_NEAR(std::clamp(area / 187500, 0.35, 1.0), area / 187500, 0.01);
    }
}

TEST(Crop, OfTheCentreHasTheRatioOfTheOutput) {
  EXPECT_EQ(centred_crop({375, 500}, {299, 299}), (Rect{62, 0, 375, 375}));
  EXPECT_EQ(centred_crop({500, 375}, {100, 200}), (Rect{0, 156, 375, 187}));
  EXPECT_EQ(centred_crop({1, 1000}, {1, 1}), (Rect{499, 0, 1, 1}));
}

TEST(Mix, TakesTheShareOfEach) {
  std::vector<std::uint8_t> pixels = {0, 100, 255, 10};
  const std::vector<std::uint8_t> other = {255, 200, 255, 20};
  mix(pixels.data(), other.data(), 4, 0.25);
  EXPECT_EQ(pixels, (std::vector<std::uint8_t>{64, 125, 255, 13}));
}

}  // namespace
}  // namespace plimsoll
