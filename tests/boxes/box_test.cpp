// Boxes, their code, suppression and draws: numbers worked out by hand.
#include "boxes/box.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "boxes/coder.h"
#include "boxes/nms.h"
#include "boxes/sampling.h"

namespace plimsoll::boxes {
namespace {

using testing::ElementsAre;

TEST(Box, IouIsWhatTwoShare) {
  EXPECT_EQ(iou<double>({0, 0, 4, 4}, {2, 0, 6, 4}), 1.0 / 3);
  EXPECT_EQ(iou<float>({0, 0, 4, 4}, {0, 0, 4, 4}), 1.0F);
  EXPECT_EQ(iou<double>({0, 0, 4, 4}, {4, 0, 8, 4}), 0) << "they touch";
  EXPECT_EQ(iou<double>({1, 1, 1, 1}, {1, 1, 1, 1}), 0) << "no area, no NaN";
  EXPECT_EQ(iou<double>({5, 5, 0, 0}, {0, 0, 5, 5}), 0) << "inverted";
}

TEST(Box, IsClippedToThePicture) {
  EXPECT_EQ(clipped<double>({-3, 2, 50, 99}, 40, 30), (Box<double>{0, 2, 30, 40}));
  EXPECT_EQ(clipped<double>({-3, -2, -1, -1}, 40, 30), (Box<double>{0, 0, 0, 0}));
}

TEST(Coder, DecodesWhatItEncodes) {
  const Coder<double> coder{{10, 10, 5, 5}};
  const Box<double> anchor{-3, 5, 29, 37}, box{4.5, 1.25, 17, 60};
  const Deltas<double> deltas = coder.encode(anchor, box);
  EXPECT_NEAR(deltas[0], 10 * (10.75 - 13) / 32, 1e-14);
  EXPECT_NEAR(deltas[3], 5 * std::log(58.75 / 32), 1e-14);
  const Box<double> back = coder.decode(anchor, deltas);
  EXPECT_NEAR(back.x0, box.x0, 1e-12);
  EXPECT_NEAR(back.y1, box.y1, 1e-12);
}

TEST(Coder, SizesAreCut) {
  const Coder<double> coder;
  const Box<double> box = coder.decode({0, 0, 16, 16}, {0, 0, 100, 1});
  EXPECT_NEAR(box.width(), 1000, 1e-9);
  EXPECT_NEAR(box.height(), 16 * std::exp(1), 1e-9);
}

TEST(Coder, TheSlopeOfDecodingIsThatOfDifferences) {
  const Coder<double> coder{{10, 5, 2, 3}};
  const Box<double> anchor{-3, 5, 29, 30}, weights{0.3, -1.7, 2.2, 0.9};
  for (const double dw : {0.4, 9.0}) {
    const Deltas<double> deltas{0.7, -0.2, dw, -0.6};
    const auto value = [&](const Deltas<double>& d) {
      const Box<double> box = coder.decode(anchor, d);
      return weights.x0 * box.x0 + weights.y0 * box.y0 + weights.x1 * box.x1 + weights.y1 * box.y1;
    };
    const Deltas<double> slope = coder.decode_slope(anchor, deltas, weights);
    for (std::size_t i = 0; i < 4; ++i) {
      Deltas<double> more = deltas, less = deltas;
      more[i] += 1e-6;
      less[i] -= 1e-6;
      EXPECT_NEAR(slope[i], (value(more) - value(less)) / 2e-6, 1e-6) << i;
    }
  }
}

std::vector<std::int32_t> kept(const std::vector<Candidate<double>>& candidates, double threshold,
                               std::size_t most = 100) {
  std::vector<std::int32_t> order(candidates.size()), stay(most);
  stay.resize(static_cast<std::size_t>(suppress<double>(candidates, threshold, order, stay)));
  return stay;
}

TEST(Nms, KeepsTheSurestOfEachGroup) {
  const std::vector<Candidate<double>> candidates{{{0, 0, 10, 10}, 0.5, 0},
                                                  {{0, 0, 10, 9}, 0.9, 0},
                                                  {{0, 0, 10, 10}, 0.4, 1},
                                                  {{20, 0, 30, 10}, 0.7, 0}};
  EXPECT_THAT(kept(candidates, 0.5), ElementsAre(1, 3, 2));
  EXPECT_THAT(kept(candidates, 0.5, 2), ElementsAre(1, 3));
  EXPECT_THAT(kept(candidates, 0.95), ElementsAre(1, 3, 0, 2));
}

TEST(Nms, OfEqualScoresTheFirstStays) {
  const std::vector<Candidate<double>> candidates{
      {{0, 0, 10, 10}, 0.5, 0}, {{0, 0, 10, 10}, 0.5, 0}, {{0, 0, 10, 5}, 0.5, 0}};
  EXPECT_THAT(kept(candidates, 0.5), ElementsAre(0, 2)) << "an IoU of the threshold is not above";
  EXPECT_THAT(kept(candidates, 0.49), ElementsAre(0));
}

TEST(Nms, ScoresThatAreNoNumbersComeLast) {
  const double nan = std::nan("");
  EXPECT_THAT(kept({{{0, 0, 1, 1}, nan, 0}, {{2, 0, 3, 1}, -5, 0}, {{4, 0, 5, 1}, nan, 0}}, 0.5),
              ElementsAre(1, 0, 2));
}

TEST(Sampling, DrawsTheSmallestLotsInAnyOrder) {
  std::vector<Lot> all;
  for (std::int64_t i = 0; i < 1000; ++i) all.push_back(lot_of(42, 7, i));
  std::vector<Lot> room(100), other(100);
  SmallestLots forward(room), backward(other);
  for (const Lot& lot : all) forward.offer(lot);
  for (auto lot = all.rbegin(); lot != all.rend(); ++lot) backward.offer(*lot);
  forward.settle(60);
  backward.settle(60);
  std::vector<Lot> sorted = all;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(forward.count(), 60);
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    EXPECT_EQ(forward.has(sorted[i]), i < 60);
    EXPECT_EQ(backward.has(sorted[i]), i < 60);
  }
}

TEST(Sampling, EverySampleAndKeyDrawsItsOwn) {
  const auto drawn = [](std::uint64_t key, std::int64_t sample) {
    std::vector<Lot> room(20);
    SmallestLots lots(room);
    for (std::int64_t i = 0; i < 200; ++i) lots.offer(lot_of(key, sample, i));
    std::set<std::int64_t> indices;
    for (const Lot& lot : room) indices.insert(lot.index);
    return indices;
  };
  EXPECT_EQ(drawn(1, 2), drawn(1, 2));
  EXPECT_NE(drawn(1, 2), drawn(1, 3));
  EXPECT_NE(drawn(1, 2), drawn(2, 2));
}

TEST(Sampling, TakesAllWhereThereAreFew) {
  std::vector<Lot> room(5);
  SmallestLots lots(room);
  lots.offer(lot_of(1, 1, 1));
  lots.settle(3);
  EXPECT_EQ(lots.count(), 1);
  EXPECT_TRUE(lots.has(lot_of(1, 1, 1)));
  SmallestLots none(std::span<Lot>{});
  none.offer(lot_of(1, 1, 1));
  none.settle(0);
  EXPECT_FALSE(none.has(lot_of(1, 1, 1)));
}

}  // namespace
}  // namespace plimsoll::boxes
