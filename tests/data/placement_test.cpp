#include "data/picture/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "data/picture/room.h"
#include "data/picture/transform.h"
#include "tests/support/complaints.h"

namespace plimsoll {
namespace {

using testing::Each;

Picture smooth_picture(Size size, std::int64_t channels) {
  Picture picture;
  picture.reshape(size.height, size.width, channels);
  for (std::size_t i = 0; i < picture.pixels.size(); ++i)
    picture.pixels[i] = static_cast<std::uint8_t>(1 + i * 7 % 251);
  return picture;
}

// A picture fed row by row, in a room of just what it is said to take.
std::vector<std::uint8_t> placed(const Picture& picture, Size canvas, const Draw& draw,
                                 Interpolation how) {
  const int channels = static_cast<int>(picture.channels);
  std::vector<std::uint8_t> hwc(
      static_cast<std::size_t>(canvas.height * canvas.width) * static_cast<std::size_t>(channels),
      77);
  Room room(Transformer::bytes(canvas, channels, how, picture.size(), Fit::letterbox));
  Transformer transformer(canvas, channels, how, room);
  RowSink& sink = transformer.begin(1, picture.size(), {0, 0, picture.width, picture.height}, draw,
                                    hwc.data(), extent_of(picture.size(), canvas, Fit::letterbox));
  sink.begin({.size = picture.size(), .channels = channels, .coverage = {}}, room);
  for (std::int64_t y = 0; y < picture.height; ++y) {
    std::copy_n(picture.row(y), picture.row_bytes(), sink.row(y));
    sink.put(y);
  }
  transformer.finish();
  return hwc;
}

TEST(Placement, KeepsTheShapeAndFillsOneSide) {
  const Size canvas{.height = 192, .width = 256};
  EXPECT_EQ(extent_of({480, 640}, canvas, Fit::letterbox), canvas);
  EXPECT_EQ(extent_of({640, 480}, canvas, Fit::letterbox), (Size{192, 144}));
  EXPECT_EQ(extent_of({100, 1000}, canvas, Fit::letterbox), (Size{25, 256}));
  EXPECT_EQ(extent_of({333, 500}, canvas, Fit::letterbox), (Size{170, 256}));  // floor(170.496)
  EXPECT_EQ(extent_of({1, 10000}, canvas, Fit::letterbox), (Size{1, 256}));
  EXPECT_EQ(extent_of({10, 10}, canvas, Fit::letterbox), (Size{192, 192}));
  EXPECT_EQ(extent_of({333, 500}, canvas, Fit::squeeze), canvas);
}

TEST(Placement, NamesReadBack) {
  for (const char* name : {"squeeze", "letterbox"}) EXPECT_EQ(to_text(parse_fit(name)), name);
  EXPECT_COMPLAINT(parse_fit("leterbox", "--fit"), UsageError, "did you mean 'letterbox'?");
}

TEST(Placement, IsThePictureOfThatSizeAtTheTopLeftAndZeroElsewhere) {
  Draw flipped;
  flipped.horizontal_flip = flipped.vertical_flip = true;
  // What a colour becomes hangs on all of the picture, and on nothing beside it.
  Draw coloured{.channel_shift = 30, .brightness = 1.2, .contrast = 1.4, .hue = 0.1};
  coloured.horizontal_flip = true;
  for (const char* method :
       {"nearest", "bilinear", "bilinear-antialias", "bicubic-antialias", "area"})
    for (const Size size : {Size{40, 30}, Size{30, 40}, Size{7, 90}, Size{90, 3}, Size{4, 4}})
      for (const Draw& draw : {Draw{}, flipped, coloured})
        for (const int channels : {1, 3}) {
          SCOPED_TRACE(std::string(method) + " of " + std::to_string(size.width));
          const Size canvas{.height = 24, .width = 20};
          const Interpolation how = parse_interpolation(method);
          const Picture picture = smooth_picture(size, channels);
          const Size extent = extent_of(size, canvas, Fit::letterbox);
          std::vector<std::uint8_t> alone(static_cast<std::size_t>(extent.height * extent.width) *
                                          static_cast<std::size_t>(channels));
          Transformer(extent, channels, how)
              .run(picture, {}, {0, 0, size.width, size.height}, draw, alone.data());
          const std::vector<std::uint8_t> hwc = placed(picture, canvas, draw, how);
          const auto row = static_cast<std::size_t>(canvas.width * channels);
          const auto used = static_cast<std::size_t>(extent.width * channels);
          for (std::size_t y = 0; y < static_cast<std::size_t>(canvas.height); ++y) {
            const std::span line = std::span(hwc).subspan(y * row, row);
            if (std::cmp_less(y, extent.height)) {
              ASSERT_TRUE(
                  std::ranges::equal(line.first(used), std::span(alone).subspan(y * used, used)));
              ASSERT_THAT(line.subspan(used), Each(0));
            } else {
              ASSERT_THAT(line, Each(0));
            }
          }
        }
}

TEST(Placement, OfLongPicturesFitsTheRoomThatIsSaid) {
  for (const char* method : {"bilinear", "bilinear-antialias", "bicubic-antialias", "area"})
    for (const Size size : {Size{2000, 3}, Size{3, 2000}, Size{1999, 150}, Size{150, 1999}})
      EXPECT_NO_THROW(placed(smooth_picture(size, 3), {32, 64}, {}, parse_interpolation(method)))
          << method << " " << size.height << "x" << size.width;
}

}  // namespace
}  // namespace plimsoll
