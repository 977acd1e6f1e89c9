#include "draw/box_picture.h"

#include <gtest/gtest.h>
#include <png.h>

#include <cstring>
#include <limits>
#include <stdexcept>
#include <vector>

#include "draw/png.h"

namespace plimsoll::draw {
namespace {

// A grey picture to draw on.
struct Canvas {
  Canvas(std::int64_t across, std::int64_t down)
      : width(across), height(down), pixels(static_cast<std::size_t>(across * down * 3), 90) {}

  PixelView view() {
    return {.pixels = pixels.data(), .width = width, .height = height, .row_bytes = 3 * width};
  }
  Rgb at(std::int64_t x, std::int64_t y) {
    const std::uint8_t* pixel = view().at(x, y);
    return {pixel[0], pixel[1], pixel[2]};
  }
  std::int64_t count(Rgb colour) {
    std::int64_t found = 0;
    for (std::int64_t y = 0; y < height; ++y)
      for (std::int64_t x = 0; x < width; ++x) found += at(x, y) == colour ? 1 : 0;
    return found;
  }

  std::int64_t width, height;
  std::vector<std::uint8_t> pixels;
};

constexpr Rgb kGrey{90, 90, 90};

TEST(BoxPicture, FramesLieInsideTheEdgesInTheColourOfTheClass) {
  Canvas canvas(200, 150);
  const std::vector<DrawnBox> boxes{{.x0 = 40, .y0 = 50, .x1 = 120, .y1 = 110, .label = 2}};
  draw_boxes(canvas.view(), boxes, {.line = 2, .letter = 1});
  const Rgb green = class_colour(2);
  for (const std::int64_t x : {40, 41, 118, 119}) EXPECT_EQ(canvas.at(x, 80), green) << x;
  for (const std::int64_t y : {50, 51, 108, 109}) EXPECT_EQ(canvas.at(80, y), green) << y;
  for (const std::int64_t x : {39, 42, 117, 120}) EXPECT_EQ(canvas.at(x, 80), kGrey) << x;
  for (const std::int64_t y : {49, 52, 107, 110}) EXPECT_EQ(canvas.at(80, y), kGrey) << y;
}

TEST(BoxPicture, FirstBoxesAreOnTop) {
  Canvas canvas(100, 100);
  const std::vector<DrawnBox> boxes{{.x0 = 10, .y0 = 10, .x1 = 60, .y1 = 60, .label = 0},
                                    {.x0 = 10, .y0 = 10, .x1 = 60, .y1 = 60, .label = 1}};
  draw_boxes(canvas.view(), boxes, {.line = 2, .letter = 1});
  EXPECT_EQ(canvas.at(10, 30), class_colour(0));
}

TEST(BoxPicture, PlatesStandAboveTheirBoxWithReadableLetters) {
  Canvas canvas(200, 150);
  const std::vector<DrawnBox> boxes{
      {.x0 = 40, .y0 = 50, .x1 = 140, .y1 = 110, .name = "H", .score = 0.5, .label = 0}};
  draw_boxes(canvas.view(), boxes, {.line = 2, .letter = 2});
  // A margin of 2, letters of 14 rows, a margin of 2.
  EXPECT_EQ(canvas.at(40, 49), class_colour(0));
  EXPECT_EQ(canvas.at(40, 32), class_colour(0));
  EXPECT_EQ(canvas.at(40, 31), kGrey);
  EXPECT_EQ(canvas.at(42, 34), ink_on(class_colour(0)));  // the left bar of the H
}

TEST(BoxPicture, PlatesStayInsideThePictureAndOffEachOther) {
  Canvas canvas(120, 60);
  std::vector<DrawnBox> boxes;
  for (int i = 0; i < 4; ++i)
    boxes.push_back({.x0 = 80, .y0 = 0, .x1 = 120, .y1 = 60, .name = "cell", .score = 0.9});
  // Would write out of bounds, or over each other, if it did not look.
  draw_boxes(canvas.view(), boxes, {.line = 1, .letter = 1});
  EXPECT_GT(canvas.count(ink_on(class_colour(0))), 0);
}

TEST(BoxPicture, TakesBoxesOutsideThePictureAndNoBoxesAtAll) {
  Canvas canvas(50, 40);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double far = 1e30;
  const std::vector<DrawnBox> none{
      {.x0 = nan, .y0 = 0, .x1 = 9, .y1 = 9, .name = "a", .score = 0.5},
      {.x0 = 60, .y0 = 0, .x1 = 70, .y1 = 9, .name = "b", .score = 0.5},
      {.x0 = 20, .y0 = 10, .x1 = 10, .y1 = 20, .name = "c", .score = 0.5},
      {.x0 = -far, .y0 = -far, .x1 = -far, .y1 = far, .name = "d", .score = 0.5}};
  draw_boxes(canvas.view(), none, {.line = 3, .letter = 9});
  EXPECT_EQ(canvas.count(kGrey), 50 * 40);
  const std::vector<DrawnBox> all{{.x0 = -far, .y0 = -far, .x1 = far, .y1 = far, .label = 7}};
  draw_boxes(canvas.view(), all, {.line = 1, .letter = 1});
  EXPECT_EQ(canvas.at(0, 20), class_colour(7));
  EXPECT_EQ(canvas.at(49, 39), class_colour(7));
  EXPECT_EQ(canvas.at(25, 20), kGrey);
}

TEST(BoxPicture, NamesLongerThanThePictureAndOfOtherAlphabetsAreDrawnAsFarAsTheyGo) {
  Canvas canvas(30, 20);
  const std::vector<DrawnBox> boxes{{.x0 = 1,
                                     .y0 = 1,
                                     .x1 = 20,
                                     .y1 = 18,
                                     .name = std::string(1000, 'x') + "\xC3\xA9\xFF",
                                     .score = 1}};
  draw_boxes(canvas.view(), boxes, {.line = 1, .letter = 3});
  EXPECT_LT(canvas.count(kGrey), 30 * 20);
}

TEST(BoxPicture, StylesGrowWithThePicture) {
  EXPECT_EQ(box_style(640, 480).line, 2);
  EXPECT_GT(box_style(4000, 3000).line, 8);
  EXPECT_GT(box_style(4000, 3000).letter, 6);
  EXPECT_EQ(box_style(1, 1).letter, 1);
}

TEST(Palette, ColoursOfClassesDiffer) {
  for (std::int64_t a = 0; a < 20; ++a)
    for (std::int64_t b = 0; b < a; ++b) EXPECT_NE(class_colour(a), class_colour(b)) << a << b;
}

TEST(Png, StreamedPixelsComeBack) {
  std::vector<std::uint8_t> pixels(300 * 200 * 3);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(i * i >> 3);
  std::string png;
  stream_png(300, 200, 3, pixels, [&](std::string_view bytes) { png += bytes; });
  png_image image;
  std::memset(&image, 0, sizeof image);
  image.version = PNG_IMAGE_VERSION;
  ASSERT_NE(png_image_begin_read_from_memory(&image, png.data(), png.size()), 0) << image.message;
  image.format = PNG_FORMAT_RGB;
  std::vector<std::uint8_t> back(PNG_IMAGE_SIZE(image));
  ASSERT_NE(png_image_finish_read(&image, nullptr, back.data(), 0, nullptr), 0);
  EXPECT_EQ(back, pixels);
}

TEST(Png, WhatTheTakerThrowsComesOut) {
  const std::vector<std::uint8_t> pixels(30, 1);
  EXPECT_THROW(
      stream_png(10, 1, 3, pixels, [](std::string_view) { throw std::runtime_error("disk full"); }),
      std::runtime_error);
}

}  // namespace
}  // namespace plimsoll::draw
