// Parts, who computes them, and the one order in which they are added.
#include "dist/tree.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

namespace plimsoll::dist {
namespace {

constexpr int kMostParts = 32;

TEST(Parts, AreOfNearlyTheSameSizeAndCoverTheBatch) {
  for (std::int64_t whole : {1, 7, 32, 50, 64})
    for (std::int64_t count = 1; count <= 12; ++count)
      for (std::int64_t images = 1; images <= whole; ++images) {
        const Parts parts = parts_of(images, whole, count);
        EXPECT_EQ(parts.begin(0), 0);
        EXPECT_EQ(parts.begin(parts.count), images);
        const std::int64_t least = images / parts.count;
        double shares = 0;
        for (int p = 0; p < parts.count; ++p) {
          EXPECT_GE(parts.size(p), std::max<std::int64_t>(1, least));
          EXPECT_LE(parts.size(p), least + 1);
          shares += parts.share(p);
        }
        EXPECT_NEAR(shares, 1, 1e-12);
      }
}

TEST(Parts, OfASmallerBatchAreFewerAndNotLarger) {
  EXPECT_EQ(parts_of(64, 64, 8), (Parts{.images = 64, .count = 8}));
  EXPECT_EQ(parts_of(33, 64, 8).count, 5);
  EXPECT_EQ(parts_of(3, 64, 8).count, 1);
  EXPECT_EQ(parts_of(5, 5, 8).count, 5) << "no part is empty";
  EXPECT_EQ(parts_of(17, 32, 1).count, 1);
  for (std::int64_t images = 1; images <= 50; ++images) {
    const Parts parts = parts_of(images, 50, 8);
    for (int p = 0; p < parts.count; ++p) EXPECT_LE(parts.size(p), 7) << images;
  }
}

TEST(Ranks, ShareThePartsInOrder) {
  for (int parts = 1; parts <= kMostParts; ++parts)
    for (int ranks = 1; ranks <= kMostParts; ++ranks) {
      int next = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const PartRange range = range_of(rank, ranks, parts);
        EXPECT_EQ(range.begin, next);
        EXPECT_LE(range.size(), (parts + ranks - 1) / ranks);
        EXPECT_TRUE(range.size() > 0 || parts < ranks);
        next = range.end;
      }
      EXPECT_EQ(next, parts);
    }
}

TEST(Ranks, SeeWindowsThatCoverTheBatch) {
  for (std::int64_t images : {3, 50, 64})
    for (int ranks = 1; ranks <= 8; ++ranks) {
      std::int64_t next = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const Window window = window_of(images, 64, 8, rank, ranks);
        EXPECT_EQ(window.first, next);
        next += window.count;
      }
      EXPECT_EQ(next, images);
    }
}

// Numbers whose sum depends on the order.
float part_value(int part) {
  return static_cast<float>(std::sin(part * 12.9898) * std::exp2(part % 7));
}

// By the definition alone.
float tree_sum(int begin, int end) {
  if (end - begin == 1) return part_value(begin);
  int half = 1;
  while (2 * half < end - begin) half *= 2;
  return tree_sum(begin, begin + half) + tree_sum(begin + half, end);
}

// What a rank holds when it has gone through its parts by its codes.
std::vector<float> hold(const PartRange& range, int parts) {
  std::vector<float> slots(static_cast<std::size_t>(slots_of(range, parts)), NAN);
  const std::vector<Carry> carries = carries_of(range, parts);
  for (int part = range.begin; part < range.end; ++part) {
    const Carry carry = carries[static_cast<std::size_t>(part - range.begin)];
    float sum = part_value(part);
    for (int s = carry.held; s-- > carry.held - carry.merged;)
      sum = slots[static_cast<std::size_t>(s)] + sum;
    const auto to = static_cast<std::size_t>(carry.held - carry.merged);
    if (part + 1 == range.end) {
      slots.resize(to);
      slots.push_back(sum);
    } else {
      slots.at(to) = sum;
    }
  }
  return range.size() == 0 ? std::vector<float>() : slots;
}

TEST(Tree, GivesTheSameBitsForAnyNumberOfRanks) {
  for (int parts = 1; parts <= kMostParts; ++parts)
    for (int ranks = 1; ranks <= parts + 3; ++ranks) {
      std::vector<float> held;
      std::vector<PartRange> nodes;
      for (int rank = 0; rank < ranks; ++rank) {
        const PartRange range = range_of(rank, ranks, parts);
        const std::vector<PartRange> own = nodes_of(range, parts);
        const std::vector<float> sums = hold(range, parts);
        ASSERT_EQ(own.size(), sums.size()) << parts << " parts, rank " << rank << " of " << ranks;
        for (std::size_t i = 0; i < own.size(); ++i)
          EXPECT_EQ(sums[i], tree_sum(own[i].begin, own[i].end));
        held.insert(held.end(), sums.begin(), sums.end());
        nodes.insert(nodes.end(), own.begin(), own.end());
      }
      for (const Addition& a : additions_of(nodes, parts))
        held[static_cast<std::size_t>(a.into)] += held[static_cast<std::size_t>(a.from)];
      EXPECT_EQ(held[0], tree_sum(0, parts)) << parts << " parts, " << ranks << " ranks";
    }
}

TEST(Tree, OneRankHoldsTheWholeSumAndNeedsOneSlotPerLevel) {
  for (int parts = 1; parts <= 1024; ++parts) {
    EXPECT_EQ(nodes_of({0, parts}, parts).size(), 1U);
    int levels = 0;
    while ((1 << levels) < parts) ++levels;
    EXPECT_LE(slots_of({0, parts}, parts), levels) << parts;
  }
  EXPECT_EQ(slots_of({0, 8}, 8), 3);
}

TEST(Tree, RanksWithAlignedSharesHoldOneSumEach) {
  for (int ranks : {2, 4, 8})
    for (int rank = 0; rank < ranks; ++rank)
      EXPECT_EQ(nodes_of(range_of(rank, ranks, 8), 8).size(), 1U);
  EXPECT_EQ(nodes_of({5, 8}, 8).size(), 2U);
}

TEST(Tree, NeedsFewSlotsForAnyShareOfTheMostParts) {
  for (int ranks = 1; ranks <= 1024; ++ranks)
    for (int rank = 0; rank < ranks; rank += std::max(1, ranks / 7))
      EXPECT_LE(slots_of(range_of(rank, ranks, 1024), 1024), 24);
}

}  // namespace
}  // namespace plimsoll::dist
