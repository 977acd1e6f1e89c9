// How tensors are shared out over ranks.
#include "dist/shard.h"

#include <gtest/gtest.h>

namespace plimsoll::dist {
namespace {

TEST(Shard, OnesOfAllRanksFollowOneAnotherAndCoverTheTensor) {
  for (const std::int64_t elements : {1, 15, 16, 17, 64, 100, 1000, 65'537, 2'048'000})
    for (int ranks = 1; ranks <= 70; ++ranks) {
      std::int64_t end = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        const Shard shard = shard_of(elements, rank, ranks);
        EXPECT_EQ(shard.begin, end) << rank << " of " << ranks;
        EXPECT_GE(shard.size(), 0);
        EXPECT_TRUE(shard.begin % 16 == 0 || shard.size() == 0) << "no two share a cache line";
        end = shard.end;
      }
      EXPECT_EQ(end, elements);
    }
}

TEST(Shard, OnesOfAllRanksAreOfNearlyTheSameSize) {
  for (const std::int64_t elements : {1000, 65'537, 2'048'000})
    for (const int ranks : {2, 3, 4, 7})
      for (int rank = 0; rank < ranks; ++rank)
        EXPECT_NEAR(static_cast<double>(shard_of(elements, rank, ranks).size()),
                    static_cast<double>(elements) / ranks, 16);
}

TEST(Shard, RankZeroHasSomeOfEveryTensor) {
  for (std::int64_t elements = 1; elements < 200; ++elements)
    EXPECT_GT(shard_of(elements, 0, 64).size(), 0);
}

TEST(Shard, CommonElementsAreThoseOfBoth) {
  EXPECT_EQ(common({0, 10}, {4, 20}), (Shard{4, 10}));
  EXPECT_EQ(common({4, 20}, {0, 10}), (Shard{4, 10}));
  EXPECT_EQ(common({0, 4}, {8, 20}).size(), 0);
}

}  // namespace
}  // namespace plimsoll::dist
