#include "data/source/canvas.h"

#include <gtest/gtest.h>

#include "data/source/open_source.h"
#include "tests/support/shared_data.h"

namespace plimsoll {
namespace {

std::vector<Size> repeated(Size size, std::size_t count) { return std::vector<Size>(count, size); }

TEST(Canvas, HasTheShapeOfThePicturesAndTheAreaOfTheNetwork) {
  EXPECT_EQ(canvas_for(repeated({480, 640}, 3), {192, 256}), (Size{192, 256}));
  EXPECT_EQ(canvas_for(repeated({640, 480}, 3), {192, 256}), (Size{256, 192}));
  EXPECT_EQ(canvas_for(repeated({480, 640}, 3), {224, 224}), (Size{192, 256}));
  EXPECT_EQ(canvas_for(repeated({100, 100}, 1), {512, 512}), (Size{512, 512}));
  EXPECT_EQ(canvas_for(repeated({1080, 1920}, 5), {512, 512}), (Size{384, 672}));
}

TEST(Canvas, OfMixedOrientationsIsSquare) {
  std::vector<Size> pictures = repeated({480, 640}, 4);
  for (const Size size : repeated({640, 480}, 4)) pictures.push_back(size);
  EXPECT_EQ(canvas_for(pictures, {512, 512}), (Size{512, 512}));
  // The median, not the mean: some panoramas change nothing.
  pictures = repeated({480, 640}, 5);
  for (const Size size : repeated({100, 5000}, 2)) pictures.push_back(size);
  EXPECT_EQ(canvas_for(pictures, {192, 256}), (Size{192, 256}));
}

TEST(Canvas, IsAMultipleOf32AndNearInArea) {
  for (const Size network : {Size{192, 256}, Size{300, 300}, Size{512, 512}, Size{800, 800}})
    for (const Size picture : {Size{1, 1000}, Size{1000, 1}, Size{3, 4}, Size{9, 16}, Size{7, 5}}) {
      const Size canvas = canvas_for(repeated(picture, 1), network);
      EXPECT_EQ(canvas.height % 32, 0);
      EXPECT_EQ(canvas.width % 32, 0);
      const double share = static_cast<double>(canvas.height * canvas.width) /
                           static_cast<double>(network.height * network.width);
      EXPECT_GT(share, 0.85) << canvas.height << "x" << canvas.width;
      EXPECT_LT(share, 1.15) << canvas.height << "x" << canvas.width;
    }
}

TEST(Canvas, OfPicturesWithoutASizeIsTheNetworks) {
  EXPECT_EQ(canvas_for(std::vector<Size>{}, {192, 256}), (Size{192, 256}));
  EXPECT_EQ(canvas_for(repeated({}, 4), {300, 300}), (Size{288, 288}));
}

TEST(Canvas, OfBloodCellsWastesNothing) {
  SHARED_DATA_OR_SKIP(folder, "bccd");
  EXPECT_EQ(canvas_for(*open_source(folder), {192, 256}), (Size{192, 256}));
}

}  // namespace
}  // namespace plimsoll
