#include "base/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace plimsoll {
namespace {

// From kat_vectors of Random123 1.14, "philox4x32 10".
TEST(Philox, AgreesWithRandom123) {
  EXPECT_EQ(philox(PhiloxKey{0, 0}, PhiloxBlock{0, 0, 0, 0}),
            (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox(PhiloxKey{0xffffffff, 0xffffffff},
                   PhiloxBlock{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}),
            (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox(PhiloxKey{0xa4093822, 0x299f31d0},
                   PhiloxBlock{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, TakesWideWordsLowHalfFirst) {
  EXPECT_EQ(philox(0x299f31d0a4093822, 0x85a308d3243f6a88, 0x0370734413198a2e),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Fill, HashesNamesByFnv1a) {
  EXPECT_EQ(fnv1a64(""), 0xcbf29ce484222325U);
  EXPECT_EQ(fnv1a64("a"), 0xaf63dc4c8601ec8cU);
  EXPECT_EQ(fnv1a64("foobar"), 0x85944171f73967e8U);
}

TEST(Fill, MixesAsSplitMix64) {
  // The first outputs of the published generator with seed 0.
  EXPECT_EQ(splitmix64(0x9E3779B97F4A7C15U), 0xE220A8397B1DCDAFU);
  EXPECT_EQ(splitmix64(2 * 0x9E3779B97F4A7C15U), 0x6E789E6AA1B965F4U);
}

TEST(Fill, GivesExactFloatsInTheHalfOpenInterval) {
  const std::uint64_t hash = fnv1a64("conv2d/kernel");
  double sum = 0;
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    const double x = signed_unit(hash, i);
    ASSERT_GE(x, -1.0);
    ASSERT_LT(x, 1.0);
    ASSERT_EQ(static_cast<double>(static_cast<float>(x)), x);
    sum += x;
  }
  EXPECT_LT(std::abs(sum / 100'000), 0.01);
  EXPECT_EQ(signed_unit(0, 0), 2.0 * (0xE220A8 * 0x1p-24) - 1.0);
}

TEST(Permutation, HitsEveryPositionOnce) {
  for (const std::int64_t size : {1, 2, 3, 4, 5, 7, 8, 9, 100, 1023, 1024, 1025, 60'000}) {
    const Permutation permutation(size, 42);
    std::vector<bool> seen(static_cast<std::size_t>(size));
    for (std::int64_t i = 0; i < size; ++i) {
      const std::int64_t to = permutation(i);
      ASSERT_GE(to, 0);
      ASSERT_LT(to, size);
      ASSERT_FALSE(seen[static_cast<std::size_t>(to)]) << size << " " << i;
      seen[static_cast<std::size_t>(to)] = true;
    }
  }
}

TEST(Permutation, IsSetByItsKey) {
  const Permutation a(1000, 1);
  const Permutation b(1000, 2);
  int same_place = 0;
  int fixed = 0;
  for (std::int64_t i = 0; i < 1000; ++i) {
    ASSERT_EQ(a(i), Permutation(1000, 1)(i));
    same_place += a(i) == b(i) ? 1 : 0;
    fixed += a(i) == i ? 1 : 0;
  }
  EXPECT_LT(same_place, 10);
  EXPECT_LT(fixed, 10);
}

// Over many keys each element should visit each position equally often: a chi-squared test with
// 4 degrees of freedom per element, whose 1 - 1e-6 quantile is 33.
TEST(Permutation, IsFairForSmallSets) {
  constexpr int kSize = 5;
  constexpr int kKeys = 20'000;
  int counts[kSize][kSize] = {};
  for (int key = 0; key < kKeys; ++key) {
    const Permutation permutation(kSize, static_cast<std::uint64_t>(key));
    for (int i = 0; i < kSize; ++i) ++counts[i][permutation(i)];
  }
  const double expected = static_cast<double>(kKeys) / kSize;
  for (const auto& row : counts) {
    double chi2 = 0;
    for (const int count : row) chi2 += (count - expected) * (count - expected) / expected;
    EXPECT_LT(chi2, 33);
  }
}

TEST(Permutation, ReachesFarPositionsOfHugeSets) {
  const std::int64_t size = (std::int64_t{1} << 40) + 12345;
  const Permutation permutation(size, 7);
  std::vector<std::int64_t> images;
  for (std::int64_t i = 0; i < 1000; ++i) images.push_back(permutation(size - 1 - i));
  std::ranges::sort(images);
  EXPECT_EQ(std::ranges::adjacent_find(images), images.end());
  EXPECT_LT(images.front(), size / 50);
  EXPECT_GT(images.back(), size - size / 50);
}

}  // namespace
}  // namespace plimsoll
