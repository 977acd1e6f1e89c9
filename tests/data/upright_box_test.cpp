#include "data/source/upright_box.h"

#include <gtest/gtest.h>

#include "data/picture/orientation.h"
#include "tests/support/turned.h"

namespace plimsoll {
namespace {

// A stored image of 40 x 20 with one mark in a quarter of it, turned upright as pixels and as a
// box.
TEST(UprightBox, GoesWhereThePixelsGo) {
  constexpr std::int64_t kWidth = 40, kHeight = 20;
  Picture stored;
  stored.reshape(kHeight, kWidth, 1);
  std::ranges::fill(stored.pixels, 0);
  const Rect mark{.x = 4, .y = 2, .width = 8, .height = 5};
  for (std::int64_t y = mark.y; y < mark.y + mark.height; ++y)
    for (std::int64_t x = mark.x; x < mark.x + mark.width; ++x) stored.row(y)[x] = 255;
  const Box box{
      .x0 = 4.0F / kWidth, .y0 = 2.0F / kHeight, .x1 = 12.0F / kWidth, .y1 = 7.0F / kHeight};
  for (int orientation = 1; orientation <= 8; ++orientation) {
    SCOPED_TRACE(orientation);
    const Picture turned = tests::turned_upright(stored, orientation);
    const Size size = upright(Size{.height = kHeight, .width = kWidth}, orientation);
    ASSERT_EQ(turned.size(), size);
    const ImageInfo info{.width = size.width,
                         .height = size.height,
                         .stored_width = kWidth,
                         .stored_height = kHeight,
                         .orientation = orientation};
    const Box upright = upright_box(box, info, {.height = kHeight, .width = kWidth});
    for (std::int64_t y = 0; y < size.height; ++y)
      for (std::int64_t x = 0; x < size.width; ++x) {
        const double at_x = (static_cast<double>(x) + 0.5) / static_cast<double>(size.width);
        const double at_y = (static_cast<double>(y) + 0.5) / static_cast<double>(size.height);
        const bool inside =
            at_x > upright.x0 && at_x < upright.x1 && at_y > upright.y0 && at_y < upright.y1;
        EXPECT_EQ(inside, turned.row(y)[x] == 255) << x << ", " << y;
      }
  }
}

TEST(UprightBox, StaysWhereTheAnnotationWasMadeOnTheUprightPicture) {
  const ImageInfo info{
      .width = 20, .height = 40, .stored_width = 40, .stored_height = 20, .orientation = 6};
  const Box box{.x0 = 0.1F, .y0 = 0.2F, .x1 = 0.3F, .y1 = 0.4F, .label = 3};
  EXPECT_EQ(upright_box(box, info, {.height = 40, .width = 20}), box);
  EXPECT_NE(upright_box(box, info, {.height = 20, .width = 40}), box);
  EXPECT_NE(upright_box(box, info, {}), box);
}

TEST(UprightBox, KeepsAnInvertedBoxInverted) {
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const Size size = upright(Size{.height = 20, .width = 40}, orientation);
    const ImageInfo info{.width = size.width,
                         .height = size.height,
                         .stored_width = 40,
                         .stored_height = 20,
                         .orientation = orientation};
    EXPECT_FALSE(is_usable(upright_box({.x0 = 0.6F, .y0 = 0.2F, .x1 = 0.3F, .y1 = 0.4F}, info, {})))
        << orientation;
  }
}

}  // namespace
}  // namespace plimsoll
