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
                                 std::pow(factor, static_cast<float>(i % kLanes));
  return made;
}

FencedTensor empty(const Spec& spec) { return FencedTensor(spec, 0, false); }

// More than room enough for the 16-bit form of a tensor.
FencedTensor empty_form(const Spec& spec) {
  return empty(blocked(2 * spec.shape[0], spec.shape[1], spec.shape[2], spec.shape[3]));
}

TEST(Half, KeepsElevenBitsOfAChannelsLargestValueWhateverItsMagnitude) {
  for (const float factor : {1.0F, 1e4F, 1e-4F}) {
    const FencedTensor x = numbers(blocked(3, 19, 7, 5), factor);
    const FencedTensor packed = empty_form(x.view().spec), back = empty(x.view().spec);
    pack_half(x.view(), packed.view().data);
    unpack_half(packed.view().data, back.view());
    for (std::int64_t i = 0; i < x.view().spec.stored_elements(); ++i) {
      const float largest = std::pow(factor, static_cast<float>(i % kLanes));
      EXPECT_NEAR(back.view().as<float>()[i], x.view().as<float>()[i], largest / 2048);
    }
  }
}

TEST(Half, LeavesZeroZeroAndWhatIsNotFiniteNotFinite) {
  const FencedTensor x = numbers(blocked(1, 8, 3, 3), 0.0F);
  x.view().as<float>()[0] = INFINITY;
  x.view().as<float>()[8] = NAN;
  const FencedTensor packed = empty_form(x.view().spec), back = empty(x.view().spec);
  pack_half(x.view(), packed.view().data);
  unpack_half(packed.view().data, back.view());
  EXPECT_FALSE(std::isfinite(back.view().as<float>()[0]));
  EXPECT_FALSE(std::isfinite(back.view().as<float>()[8]));
  for (std::int64_t lane = 1; lane < kLanes; ++lane)
    for (std::int64_t i = 0; i < 9; ++i)
      EXPECT_EQ(back.view().as<float>()[i * kLanes + lane], 0.0F);
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
