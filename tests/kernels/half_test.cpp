// The 16-bit form of activations: what is lost, and that it is the same whoever writes it.
#include "kernels/half.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "kernels/batch_norm.h"
#include "tests/support/fenced_tensor.h"

namespace plimsoll::kernels {
namespace {

// Numbers in (-1, 1), those of each channel `factor` times as large as those of the one before.
FencedTensor numbers(const Spec& spec, float factor) {
  FencedTensor made(spec, 0, false);
  for (std::int64_t i = 0; i < spec.stored_elements(); ++i)
    made.view().as<float>()[i] = static_cast<float>(signed_unit(1, static_cast<std::uint64_t>(i))) *
                                 std::pow(factor, static_cast<float>(i % kNarrowLanes));
  return made;
}

FencedTensor empty(const Spec& spec) { return FencedTensor(spec, 0, false); }

// More than room enough for the 16-bit form of a tensor.
FencedTensor empty_form(const Spec& spec) {
  return empty(blocked(2 * spec.shape[0], spec.shape[1], spec.shape[2], spec.shape[3]));
}

// `x` packed and unpacked.
FencedTensor there_and_back(const FencedTensor& x) {
  const FencedTensor packed = empty_form(x.view().spec);
  FencedTensor back = empty(x.view().spec);
  pack_half(x.view(), packed.view().data);
  unpack_half(packed.view().data, back.view());
  return back;
}

// One value of each channel is `largest`, times 1, 2, ... 8; the others go down to 2^-40 of it,
// every magnitude with mantissas of its own and some that lie halfway between two halves.
FencedTensor falling_numbers(float largest) {
  constexpr std::int64_t kMagnitudes = 41, kEach = 16;
  FencedTensor made(blocked(1, kNarrowLanes, kMagnitudes, kEach), 0, false);
  for (std::int64_t i = 0; i < kMagnitudes * kEach; ++i)
    for (std::int64_t lane = 0; lane < kNarrowLanes; ++lane) {
      const auto draw =
          static_cast<float>(signed_unit(7, static_cast<std::uint64_t>(i * 8 + lane)));
      const auto halfway = static_cast<float>(1 + 2 * (i % 1024)) / 4096;
      const float fraction = i % 3 == 0 ? halfway : draw;
      const float top = largest * static_cast<float>(lane + 1);
      made.view().as<float>()[i * kNarrowLanes + lane] =
          i == 0 ? top : std::ldexp(top * fraction, -static_cast<int>(i / kEach));
    }
  return made;
}

// The bound of kernels/half.h, at every distance from the largest and for largest values of odd
// magnitudes, from the smallest to the largest that are scaled.
TEST(Half, LosesWhatItsHeaderSaysAtMost) {
  for (const float largest : {1.0F, 0.99999994F, 3.7e-12F, 6.02e23F, 4.8e-38F, 2.6e36F, 1.0e-5F}) {
    const FencedTensor x = falling_numbers(largest);
    const FencedTensor back = there_and_back(x);
    double worst = 0;
    for (std::int64_t i = 0; i < x.view().spec.stored_elements(); ++i) {
      int exponent = 0;
      std::frexp(largest * static_cast<float>(i % kNarrowLanes + 1), &exponent);
      const auto before = static_cast<double>(x.view().as<float>()[i]);
      const auto after = static_cast<double>(back.view().as<float>()[i]);
      const double bound =
          std::fmax(std::ldexp(std::fabs(before), -11), std::ldexp(1, exponent - 25));
      worst = std::fmax(worst, std::fabs(after - before) / bound);
    }
    EXPECT_LE(worst, 1) << largest;
    EXPECT_GT(worst, 0.99) << largest << ": a smaller bound would do";
  }
}

TEST(Half, MakesZeroOfWhatIsFarBelowTheLargestAndNothingElse) {
  FencedTensor x(blocked(1, kNarrowLanes, 1, 3), 0, false);
  for (std::int64_t lane = 0; lane < kNarrowLanes; ++lane) {
    x.view().as<float>()[lane] = 0.75F;
    x.view().as<float>()[kNarrowLanes + lane] = 0x1.8p-25F;
    x.view().as<float>()[2 * kNarrowLanes + lane] = -0x1.8p-26F;
  }
  const FencedTensor back = there_and_back(x);
  EXPECT_EQ(back.view().as<float>()[0], 0.75F);
  EXPECT_EQ(back.view().as<float>()[kNarrowLanes], 0x1p-24F);
  EXPECT_EQ(back.view().as<float>()[2 * kNarrowLanes], 0.0F);
}

TEST(Half, LeavesZeroZeroAndWhatIsNotFiniteNotFinite) {
  const FencedTensor x = numbers(blocked(1, 8, 3, 3), 0.0F);
  x.view().as<float>()[0] = INFINITY;
  x.view().as<float>()[8] = NAN;
  const FencedTensor back = there_and_back(x);
  EXPECT_FALSE(std::isfinite(back.view().as<float>()[0]));
  EXPECT_FALSE(std::isfinite(back.view().as<float>()[8]));
  for (std::int64_t lane = 1; lane < kNarrowLanes; ++lane)
    for (std::int64_t i = 0; i < 9; ++i)
      EXPECT_EQ(back.view().as<float>()[i * kNarrowLanes + lane], 0.0F);
}

TEST(Half, IsTheSameWrittenByThePassThatTakesStatistics) {
  for (const Spec& spec : {blocked(3, 19, 7, 5), blocked(2, 8, 1, 1), blocked(2, 33, 23, 25)}) {
    const FencedTensor y = numbers(spec, 3.0F);
    const FencedTensor apart = empty_form(spec), together = empty_form(spec);
    const Spec channels = plain({spec.shape[1]});
    const FencedTensor mean = empty(channels), variance = empty(channels);
    const FencedTensor mean_too = empty(channels), variance_too = empty(channels);
    pack_half(y.view(), apart.view().data);
    const TensorView in[] = {y.view()};
    const TensorView out[] = {mean.view(), variance.view()};
    const TensorView out_too[] = {mean_too.view(), variance_too.view()};
    bn_stats({}, {.in = in, .out = out});
    bn_stats({}, {.in = in, .out = out_too, .packed = together.view().data});
    EXPECT_EQ(together.content(), apart.content());
    EXPECT_EQ(mean_too.content(), mean.content());
    EXPECT_EQ(variance_too.content(), variance.content());
    EXPECT_TRUE(together.fence_stands());
  }
}

}  // namespace
}  // namespace plimsoll::kernels
