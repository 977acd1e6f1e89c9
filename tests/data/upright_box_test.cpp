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
  const Box box{.x0 = 4, .y0 = 2, .x1 = 12, .y1 = 7, .area = 40};
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
    EXPECT_EQ(upright.area, 40);
    // An annotation of twice the size is of the same picture.
    const Box twice{.x0 = 8, .y0 = 4, .x1 = 24, .y1 = 14, .area = 160};
    EXPECT_EQ(upright_box(twice, info, {.height = 2 * kHeight, .width = 2 * kWidth}), upright);
    for (std::int64_t y = 0; y < size.height; ++y)
      for (std::int64_t x = 0; x < size.width; ++x) {
        const float at_x = static_cast<float>(x) + 0.5F;
        const float at_y = static_cast<float>(y) + 0.5F;
        const bool inside =
            at_x > upright.x0 && at_x < upright.x1 && at_y > upright.y0 && at_y < upright.y1;
        EXPECT_EQ(inside, turned.row(y)[x] == 255) << x << ", " << y;
      }
  }
}

TEST(UprightBox, StaysWhereTheAnnotationWasMadeOnTheUprightPicture) {
  const ImageInfo info{
      .width = 20, .height = 40, .stored_width = 40, .stored_height = 20, .orientation = 6};
  const Box box{.x0 = 1, .y0 = 2, .x1 = 3, .y1 = 4, .label = 3};
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
    const Box upright = upright_box({.x0 = 6, .y0 = 2, .x1 = 3, .y1 = 4}, info, {});
    EXPECT_FALSE(is_usable(upright, size)) << orientation;
  }
}

}  // namespace
}  // namespace plimsoll
