#include "data/images.h"

#include <gtest/gtest.h>

#include <numeric>

namespace plimsoll {
namespace {

// Three 1x2 images of two channels whose bytes are 0, 1, 2, ...
Images small_images() {
  Images images{.count = 3,
                .height = 1,
                .width = 2,
                .channels = 2,
                .pixels = std::vector<std::uint8_t>(12),
                .labels = {5, 6, 7},
                .class_names = {}};
  std::iota(images.pixels.begin(), images.pixels.end(), std::uint8_t{0});
  return images;
}

float scaled(int value) { return static_cast<float>(value) / 127.5F - 1.0F; }

TEST(Images, FillABatchWithChannelsFirst) {
  const Images images = small_images();
  std::vector<float> batch(9, 99.0F);
  fill_batch(images, Order::sequential(3), 1, 2, batch.data());
  EXPECT_EQ(batch, (std::vector<float>{scaled(4), scaled(6), scaled(5), scaled(7), scaled(8),
                                       scaled(10), scaled(9), scaled(11), 99.0F}));
}

TEST(Images, ScaleBytesFromMinusOneToOne) {
  Images images = small_images();
  images.pixels[0] = 0;
  images.pixels[1] = 255;
  float batch[4];
  fill_batch(images, Order::sequential(3), 0, 1, batch);
  EXPECT_EQ(batch[0], -1.0F);
  EXPECT_EQ(batch[2], 1.0F);
}

TEST(Images, KeepImageAndLabelTogetherWhenShuffled) {
  const Images images = small_images();
  const Order order = Order::shuffled(3, 11, 2);
  float batch[12];
  std::int32_t labels[3];
  fill_batch(images, order, 0, 3, batch);
  fill_labels(images, order, 0, 3, labels);
  for (int k = 0; k < 3; ++k)
    EXPECT_EQ(batch[4 * k], scaled(4 * (labels[k] - 5))) << "position " << k;
}

TEST(Images, CountTheirBytes) { EXPECT_EQ(small_images().bytes(), Bytes{12 + 3 * 4}); }

TEST(ImagesDeathTest, StopAtABatchOutside) {
  const Images images = small_images();
  float batch[12];
  EXPECT_DEATH(fill_batch(images, Order::sequential(3), 2, 2, batch), "outside");
  EXPECT_DEATH(fill_batch(images, Order::sequential(4), 0, 1, batch), "other images");
}

TEST(Order, ShowsEverySampleOncePerEpoch) {
  for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
    const Order order = Order::shuffled(1000, 0, epoch);
    std::vector<int> seen(1000);
    for (std::int64_t k = 0; k < order.size(); ++k) ++seen[static_cast<std::size_t>(order[k])];
    EXPECT_EQ(seen, std::vector<int>(1000, 1));
  }
}

TEST(Order, DependsOnSeedAndEpochAlone) {
  const auto first = [](std::uint64_t seed, std::int64_t epoch) {
    const Order order = Order::shuffled(60'000, seed, epoch);
    return std::vector<std::int64_t>{order[0], order[1], order[2], order[59'999]};
  };
  EXPECT_EQ(first(1, 2), first(1, 2));
  EXPECT_NE(first(1, 2), first(1, 3));
  EXPECT_NE(first(1, 2), first(2, 2));
  EXPECT_NE(first(1, 2), first(2, 1));
}

}  // namespace
}  // namespace plimsoll
