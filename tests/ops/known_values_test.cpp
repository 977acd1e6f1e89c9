// Numbers worked out by hand: what no reference kernel of ours can vouch for by itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/ops/one_call.h"

namespace plimsoll {
namespace {

using testing::ElementsAre;
using testing::Pointwise;
using Numbers = std::vector<double>;

testing::Matcher<Numbers> near(const Numbers& wanted) {
  return Pointwise(testing::DoubleNear(1e-9), wanted);
}

TEST(KnownValues, CurvesBendWhereTheyShould) {
  const Given x{real({5}), {-7, -1, 0, 2, 9}};
  const auto curve = [&](const char* kind) {
    return outputs("activation", {x}, {{"kind", std::string(kind)}})[0];
  };
  EXPECT_THAT(curve("relu"), ElementsAre(0, 0, 0, 2, 9));
  EXPECT_THAT(curve("relu6"), ElementsAre(0, 0, 0, 2, 6));
  EXPECT_THAT(curve("leaky_relu"), near({-2.1, -0.3, 0, 2, 9}));
  EXPECT_NEAR(curve("sigmoid")[3], 0.8807970779778823, 1e-12);
  EXPECT_NEAR(curve("swish")[3], 1.7615941559557646, 1e-12);
  EXPECT_NEAR(curve("tanh")[3], 0.9640275800758169, 1e-12);
}

TEST(KnownValues, TheSlopeOfRelu6EndsAtSix) {
  const Given dy{real({4}), {1, 2, 3, 4}}, y{real({4}), {0, 0.5, 5.5, 6}};
  EXPECT_THAT(outputs("activation_grad", {dy, y}, {{"kind", std::string("relu6")}})[0],
              ElementsAre(0, 2, 3, 0));
}

TEST(KnownValues, FlattenCountsChannelsFastest) {
  // Logical [N,C,H,W] = [1,2,2,2]: channel 0 holds 0..3, channel 1 holds 4..7.
  const Given x{blocked(1, 2, 2, 2, DType::f64), {0, 1, 2, 3, 4, 5, 6, 7}};
  const Attrs flat{{"shape", Ints{1, 8}}};
  EXPECT_THAT(outputs("reshape", {x}, flat)[0], ElementsAre(0, 4, 1, 5, 2, 6, 3, 7));
  const Given row{real({1, 8}), {0, 4, 1, 5, 2, 6, 3, 7}};
  EXPECT_THAT(outputs("reshape", {row}, {{"shape", Ints{1, 2, 2, 2}}})[0],
              ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

TEST(KnownValues, ZerosGoWhereThePadsSay) {
  const Given x{blocked(1, 1, 1, 2, DType::f64), {5, 6}};
  EXPECT_THAT(outputs("zero_pad", {x}, {{"pads", Ints{1, 0, 0, 2}}})[0],
              ElementsAre(0, 0, 0, 0, 5, 6, 0, 0));
}

TEST(KnownValues, CrossEntropyIsKerass) {
  const Given logits{real({2, 3}), {1, 2, 3, 0, 0, 0}};
  const Given labels{plain({2}, DType::i32), {2, 0}};
  const double first = std::log(std::exp(-2) + std::exp(-1) + 1);
  const auto plain_loss = outputs("softmax_cross_entropy", {logits, labels});
  EXPECT_NEAR(plain_loss[0][0], (first + std::log(3)) / 2, 1e-12);
  EXPECT_NEAR(plain_loss[1][3], (1.0 / 3 - 1) / 2, 1e-12);
  // Smoothed targets of the first row: 0.1, 0.1, 0.8.
  const auto smooth = outputs("softmax_cross_entropy", {logits, labels}, {{"smoothing", 0.3}});
  EXPECT_NEAR(smooth[0][0], (first + 0.1 * 2 + 0.1 * 1 + std::log(3)) / 2, 1e-12);
}

TEST(KnownValues, ALabelOutOfRangeSpoilsTheLossVisibly) {
  const Given logits{real({1, 3}), {1, 2, 3}};
  for (double label : {-1.0, 3.0})
    EXPECT_TRUE(std::isnan(
        outputs("softmax_cross_entropy", {logits, {plain({1}, DType::i32), {label}}})[0][0]));
}

TEST(KnownValues, BinaryCrossEntropyIsStable) {
  const Given logits{real({1, 4}), {800, -800, 0, 1}};
  const Given targets{real({1, 4}), {1, 1, 0.5, 0}};
  const auto result = outputs("sigmoid_cross_entropy", {logits, targets});
  EXPECT_NEAR(result[0][0], (0 + 800 + std::log(2) + std::log1p(std::exp(1))) / 4, 1e-9);
  EXPECT_THAT(result[1], near({0, -0.25, 0, 0.7310585786300049 / 4}));
}

TEST(KnownValues, SquaresAreAveragedAndPenaltiesAreNot) {
  const Given x{real({2, 2}), {1, 2, 3, 4}}, target{real({2, 2}), {1, 0, 3, 2}};
  const auto error = outputs("mean_squared_error", {x, target});
  EXPECT_THAT(error[0], near({2}));
  EXPECT_THAT(error[1], near({0, 1, 0, 1}));
  EXPECT_THAT(outputs("l2", {x, target}, {{"factor", 0.5}})[0], near({0.5 * (30 + 14)}));
}

TEST(KnownValues, SoftmaxTakesLargeScores) {
  const Given x{real({1, 3}), {1000, 1000, -1000}};
  EXPECT_THAT(outputs("softmax", {x})[0], near({0.5, 0.5, 0}));
}

TEST(KnownValues, AccuracyCountsTheFirstAndTheFirstFive) {
  const Given logits{real({3, 6}), {5, 4, 3, 2, 1, 0, 5, 4, 3, 2, 1, 0, 5, 4, 3, 2, 1, 0}};
  const Given labels{plain({3}, DType::i32), {0, 4, 5}};
  EXPECT_THAT(outputs("accuracy", {logits, labels})[0], ElementsAre(1, 2));
}

TEST(KnownValues, AGateScalesItsChannel) {
  const Given x{blocked(1, 2, 1, 2, DType::f64), {1, 2, 3, 4}};
  const Given gate{blocked(1, 2, 1, 1, DType::f64), {10, -1}};
  EXPECT_THAT(outputs("multiply", {x, gate})[0], ElementsAre(10, 20, -3, -4));
  EXPECT_THAT(outputs("multiply_sum", {x, x})[0], ElementsAre(5, 25));
}

// One step of each optimizer on w = 1, g = 0.5, slots 0, rate 0.1, as Keras defines it.
TEST(KnownValues, OptimizersTakeKerasesFirstStep) {
  const Given w{real({1}), {1}}, g{real({1}), {0.5}}, slot{real({1}), {0}};
  const Given rate{plain({1}), {0.1F}}, step{plain({1}, DType::i64), {0}};
  const Given norm{real({1}), {0.5}};
  const double lr = static_cast<double>(0.1F);
  EXPECT_NEAR(outputs("sgd", {w, g, rate, norm}, {{"momentum", 0.0}})[0][0], 1 - lr * 0.5, 1e-12);
  const auto moved = outputs("sgd", {w, g, {real({1}), {0.2}}, rate, norm}, {{"momentum", 0.9}});
  EXPECT_NEAR(moved[1][0], 0.9 * 0.2 - lr * 0.5, 1e-12);
  EXPECT_NEAR(moved[0][0], 1 + moved[1][0], 1e-12);
  const auto ahead = outputs("sgd", {w, g, {real({1}), {0.2}}, rate, norm},
                             {{"momentum", 0.9}, {"nesterov", std::int64_t{1}}});
  EXPECT_NEAR(ahead[0][0], 1 + 0.9 * moved[1][0] - lr * 0.5, 1e-12);
  const auto adam = outputs("adam", {w, g, slot, slot, rate, step, norm});
  EXPECT_NEAR(adam[0][0], 1 - lr * 0.05 * std::sqrt(0.001) / 0.1 / (std::sqrt(0.00025) + 1e-7),
              1e-12);
}

TEST(KnownValues, AStepThatIsNotFiniteChangesNothing) {
  const Given w{real({1}), {1}}, g{real({1}), {0.5}}, rate{plain({1}), {0.1}};
  for (double bad : {std::nan(""), HUGE_VAL})
    EXPECT_THAT(outputs("sgd", {w, g, rate, {real({1}), {bad}}}, {{"momentum", 0.0}})[0],
                ElementsAre(1));
  const Given loss{real({1}), {std::nan("")}};
  EXPECT_TRUE(std::isnan(outputs("global_norm", {loss, g})[0][0]));
  EXPECT_THAT(outputs("global_norm", {w, {real({2}), {3, 4}}})[0], ElementsAre(5));
}

TEST(KnownValues, LargeGradientsAreClippedTogether) {
  const Given w{real({1}), {1}}, g{real({1}), {3}}, rate{plain({1}), {0.5}}, norm{real({1}), {5}};
  const Attrs attrs{{"momentum", 0.0}, {"clip_norm", 1.0}};
  EXPECT_THAT(outputs("sgd", {w, g, rate, norm}, attrs)[0], near({1 - 0.5 * 3 / 5}));
}

}  // namespace
}  // namespace plimsoll
