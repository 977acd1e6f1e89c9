// Tensors of which every rank has a shard become whole on all of them.
#include <gtest/gtest.h>

#include <vector>

#include "dist/exchange.h"
#include "tests/support/ranks.h"

namespace plimsoll::dist {
namespace {

float value_of(std::size_t tensor, std::int64_t element) {
  return static_cast<float>(tensor * 100'000 + at(element));
}

// A rank's tensors: its shards hold what is right, the rest does not.
class Held {
 public:
  Held(const std::vector<std::int64_t>& elements, const Group& group) : bucket_{.gathers = true} {
    for (const std::int64_t count : elements) {
      const std::size_t tensor = memory_.size();
      const Shard own = shard_of(count, group.rank(), group.ranks());
      std::vector<float>& values = memory_.emplace_back(at(count), -1.0F);
      for (std::int64_t i = own.begin; i < own.end; ++i) values[at(i)] = value_of(tensor, i);
      bucket_.elements += count;
      bucket_.tensors.push_back({.elements = count, .sum = values.data(), .slots = {}});
    }
  }

  const Bucket& bucket() const { return bucket_; }
  bool is_whole() const {
    for (std::size_t tensor = 0; tensor < memory_.size(); ++tensor)
      for (std::size_t i = 0; i < memory_[tensor].size(); ++i)
        if (memory_[tensor][i] != value_of(tensor, static_cast<std::int64_t>(i))) return false;
    return true;
  }

 private:
  std::vector<std::vector<float>> memory_;
  Bucket bucket_;
};

// Of buckets of these tensors, by every rank in as many pieces as it takes.
void expect_gathered(int ranks, const std::vector<std::vector<std::int64_t>>& buckets,
                     std::int64_t piece) {
  const Holdings holdings = holdings_of(ranks, ranks);
  const auto thrown = run_ranks(ranks, [&](Group& group) {
    TensorCourier courier(group.rank(), ranks,
                          staging_of({&holdings, 1}, group.rank(), ranks, piece));
    group.carry_for(&courier);
    std::vector<Held> held;
    held.reserve(buckets.size());
    std::vector<Bucket> all;
    for (const auto& elements : buckets) all.push_back(held.emplace_back(elements, group).bucket());
    for (int step = 0; step < 3; ++step) {
      courier.begin_step(holdings, all);
      for (std::size_t bucket = 0; bucket < all.size(); ++bucket) {
        courier.post();
        group.wake();
      }
      courier.end_step();
      for (const Held& tensors : held)
        EXPECT_TRUE(tensors.is_whole()) << "rank " << group.rank() << " of " << ranks;
    }
    EXPECT_GT(courier.bytes_received(), 0);
    group.carry_for(nullptr);
  });
  for (const std::string& text : thrown) EXPECT_EQ(text, "");
}

TEST(Gather, BringsEveryRanksShardToAll) {
  for (const int ranks : {2, 3, 4, 7}) expect_gathered(ranks, {{1000, 37, 1, 513}, {64}}, 2048);
}

TEST(Gather, WorksInPiecesOfAnySize) {
  for (const std::int64_t piece : {1, 5, 64, 100'000})
    expect_gathered(3, {{1000, 37, 1, 513}, {64, 64}}, piece);
}

TEST(Gather, WorksWhereSomeRanksHaveNothing) { expect_gathered(5, {{3}, {16, 17, 40}}, 16); }

TEST(Gather, FollowsASumInTheSameStep) {
  constexpr int kRanks = 3;
  const Holdings holdings = holdings_of(kRanks, kRanks);
  const auto thrown = run_ranks(kRanks, [&](Group& group) {
    TensorCourier courier(group.rank(), kRanks,
                          staging_of({&holdings, 1}, group.rank(), kRanks, 50));
    group.carry_for(&courier);
    std::vector<float> sum(200, static_cast<float>(group.rank() + 1));
    const Held held({200, 33}, group);
    std::vector<Bucket> buckets(2);
    buckets[0].tensors = {{.elements = 200, .sum = sum.data(), .slots = {}}};
    buckets[0].elements = 200;
    buckets[1] = held.bucket();
    courier.begin_step(holdings, buckets);
    for (int bucket = 0; bucket < 2; ++bucket) {
      courier.post();
      group.wake();
      courier.wait_for(static_cast<std::size_t>(bucket) + 1);
    }
    courier.end_step();
    EXPECT_EQ(sum, std::vector<float>(200, 6.0F));
    EXPECT_TRUE(held.is_whole());
    group.carry_for(nullptr);
  });
  for (const std::string& text : thrown) EXPECT_EQ(text, "");
}

}  // namespace
}  // namespace plimsoll::dist
