// What the ops of detectors promise besides their numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/focal.h"
#include "tests/ops/one_call.h"

namespace plimsoll {
namespace {

using testing::Each;
using testing::ElementsAre;
using Row = std::vector<double>;

Spec integers(std::initializer_list<std::int64_t> dims) { return plain(dims, DType::i32); }

// The loss of one anchor of two classes that found box 0.
double focal_of_label(double label) {
  return outputs("focal_loss",
                 {{blocked(1, 2, 1, 1, DType::f64), {0.5, -1}},
                  {integers({1, 1, 1, 1}), {0}},
                  {real({1}), {1}},
                  {integers({1, 1}), {label}}},
                 {{"classes", std::int64_t{2}}})[0][0];
}

TEST(DetectionOps, ALabelThatCannotBeStopsTheStep) {
  EXPECT_TRUE(std::isfinite(focal_of_label(1)));
  EXPECT_TRUE(std::isnan(focal_of_label(2)));
  EXPECT_TRUE(std::isnan(focal_of_label(-1)));
  const float x[8] = {};
  float slopes[8];
  const std::int32_t match[] = {0}, labels[] = {2};
  kernels::FocalBlock block{.x = x,
                            .slopes = slopes,
                            .cells = 1,
                            .channels = 2,
                            .classes = 2,
                            .match = match,
                            .labels = labels,
                            .boxes = 1};
  EXPECT_TRUE(std::isnan(kernels::focal_loss({}, block)));
  block.boxes = 0;
  EXPECT_TRUE(std::isnan(kernels::focal_loss({}, block))) << "nor a box that is not there";
}

TEST(DetectionOps, FocalLossHoldsForScoresOfAnySize) {
  for (const float x : {-1e30F, -200.0F, -60.0F, -1e-20F, 0.0F, 3.0F, 90.0F, 1e30F})
    for (const int target : {0, 1}) {
      float scores[8] = {x}, slopes[8];
      const std::int32_t match[] = {target - 1};
      const double loss = kernels::focal_loss(
          {.positive = 0.25F, .negative = 0.75F},
          {.x = scores, .slopes = slopes, .cells = 1, .channels = 1, .match = match});
      const double z = target == 1 ? x : -x, weight = target == 1 ? 0.25 : 0.75;
      const double small = std::exp(-std::fabs(z));
      const double q = (z >= 0 ? small : 1) / (1 + small);
      const double wanted = weight * q * q * (std::max(0.0, -z) + std::log1p(small));
      EXPECT_NEAR(loss, wanted, 1e-6 * wanted + 1e-37) << x << " " << target;
      EXPECT_TRUE(std::isfinite(slopes[0]));
      EXPECT_EQ(slopes[1], 0) << "no channel";
    }
}

TEST(DetectionOps, ADrawDoesNotDependOnHowABatchIsSplit) {
  const Attrs attrs{{"number", std::int64_t{6}}, {"key", std::int64_t{99}}};
  Row codes;
  for (int i = 0; i < 40; ++i) codes.push_back(i % 5 == 0 ? 0 : -1);
  const auto drawn = [&](std::int64_t images, double first, const Row& match) {
    return outputs("sample_matches",
                   {{real({images}), Row(static_cast<std::size_t>(images), 1.0)},
                    {plain({2}, DType::i64), {first, 5}},
                    {integers({images, 2, 2, 5}), match}},
                   attrs)[0];
  };
  const Row whole = drawn(2, 300, codes);
  const Row half(codes.begin(), codes.begin() + 20);
  Row parts = drawn(1, 300, half);
  const Row second = drawn(1, 301, half);
  parts.insert(parts.end(), second.begin(), second.end());
  EXPECT_EQ(parts, whole);
  EXPECT_NE(second, drawn(1, 302, half));
  EXPECT_EQ(std::count_if(second.begin(), second.end(), [](double code) { return code > -2; }), 6);
}

TEST(DetectionOps, PointsFarOutsideCountAsNothing) {
  const Attrs attrs{{"size", std::int64_t{1}}};
  const Given level{blocked(1, 1, 4, 4, DType::f64), Row(16, 1.0)};
  const auto bin = [&](const Row& roi) {
    return outputs("roi_align", {{real({1, 4}), roi}, level}, attrs)[0][0];
  };
  EXPECT_EQ(bin({0, 0, 16, 16}), 1);
  EXPECT_EQ(bin({-100, 0, -50, 16}), 0);
  EXPECT_EQ(bin({0, 0, 64, 16}), 0.5) << "half of the points lie beyond the edge";
  EXPECT_TRUE(std::isfinite(bin({NAN, NAN, NAN, NAN})));
}

TEST(DetectionOps, RoomThatIsNotUsedWeighsNothing) {
  const std::vector<Row> drawn = outputs("sample_rois",
                                         {{real({1, 2, 4}), {0, 0, 8, 8, 30, 30, 40, 40}},
                                          {integers({1}), {2}},
                                          {real({1, 1, 4}), {0, 0, 8, 9}},
                                          {integers({1, 1}), {3}},
                                          {integers({1}), {1}},
                                          {plain({2}, DType::i64), {0, 0}}},
                                         {{"number", std::int64_t{6}}, {"positive_share", 0.5}});
  EXPECT_THAT(drawn[1], ElementsAre(4, 0, 4, 0, 0, 0)) << "the box itself comes last";
  EXPECT_THAT(drawn[3], ElementsAre(2, 2, 2, 0, 0, 0));
}

TEST(DetectionOps, PicturesWithoutBoxesAreBackground) {
  const std::vector<Row> matched =
      outputs("match_anchors", {{real({1, 3, 4}), Row(12, 0.0)}, {integers({1}), {0}}},
              {{"cells", Ints{2, 2}}});
  EXPECT_THAT(matched[0], Each(-1));
  EXPECT_EQ(matched[1][0], 1);
}

}  // namespace
}  // namespace plimsoll
