#include "kernels/short_reals.h"

#include <gtest/gtest.h>

#include <bit>
#include <vector>

namespace plimsoll {
namespace {

// Every number of 16 bits, and what lies between it and the next.
std::vector<float> floats() {
  std::vector<float> all;
  for (std::uint32_t upper = 0; upper < 0x10000; ++upper)
    for (const std::uint32_t lower : {0x0000U, 0x0001U, 0x7FFFU, 0x8000U, 0x8001U, 0xFFFFU})
      all.push_back(std::bit_cast<float>(upper << 16 | lower));
  all.push_back(1.0F);  // so that their number is no multiple of eight
  return all;
}

TEST(ShortReals, VectorsRoundAsSingleNumbersDo) {
  const std::vector<float> from = floats();
  std::vector<Bf16> to(from.size());
  kernels::shorten(from.data(), std::ssize(from), to.data());
  for (std::size_t i = 0; i < from.size(); ++i)
    ASSERT_EQ(to[i].bits, Bf16(from[i]).bits) << std::bit_cast<std::uint32_t>(from[i]);
}

TEST(ShortReals, WidenedTheyAreTheSameNumbers) {
  std::vector<Bf16> from(0x10000 + 3);
  for (std::size_t i = 0; i < from.size(); ++i) from[i].bits = static_cast<std::uint16_t>(i);
  std::vector<float> to(from.size());
  kernels::widen(from.data(), std::ssize(from), to.data());
  for (std::size_t i = 0; i < from.size(); ++i)
    ASSERT_EQ(std::bit_cast<std::uint32_t>(to[i]), static_cast<std::uint32_t>(from[i].bits) << 16);
}

}  // namespace
}  // namespace plimsoll
