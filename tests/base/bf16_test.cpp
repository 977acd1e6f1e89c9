#include "base/bf16.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

namespace plimsoll {
namespace {

float through(float value) { return static_cast<float>(Bf16(value)); }

TEST(Bf16, KeepsWhatHasEightBits) {
  for (const float value : {0.0F, -0.0F, 1.0F, -1.5F, 255.0F, 0x1.FEp100F, 0x1p-126F, 0x1p-133F})
    EXPECT_EQ(std::bit_cast<std::uint32_t>(through(value)), std::bit_cast<std::uint32_t>(value));
}

TEST(Bf16, RoundsToTheNearestAndTiesToEven) {
  EXPECT_EQ(through(0x1.01p0F), 0x1.00p0F);  // half-way: the even one
  EXPECT_EQ(through(0x1.03p0F), 0x1.04p0F);
  EXPECT_EQ(through(0x1.010002p0F), 0x1.02p0F);
  EXPECT_EQ(through(0x1.02FFFEp0F), 0x1.02p0F);
  EXPECT_EQ(through(-0x1.03p0F), -0x1.04p0F);
}

TEST(Bf16, IsOffByAtMostA256th) {
  for (float value = 1e-30F; value < 1e30F; value *= 1.0371F)
    EXPECT_LE(std::fabs(through(value) - value), value * 0x1p-8F) << value;
}

TEST(Bf16, OverflowsToInfinityAndKeepsNaN) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(through(kInfinity), kInfinity);
  EXPECT_EQ(through(-kInfinity), -kInfinity);
  EXPECT_EQ(through(std::numeric_limits<float>::max()), kInfinity);
  EXPECT_TRUE(std::isnan(through(std::numeric_limits<float>::quiet_NaN())));
  // One whose bits are all in the half that is cut off.
  EXPECT_TRUE(std::isnan(through(std::bit_cast<float>(0x7F800001U))));
  EXPECT_TRUE(std::isnan(through(std::bit_cast<float>(0xFFFFFFFFU))));
}

}  // namespace
}  // namespace plimsoll
