#include "dist/group.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <numeric>

#include "tests/support/allocation_counter.h"
#include "tests/support/ranks.h"

namespace plimsoll::dist {
namespace {

using Nothing = std::vector<std::string>;

std::vector<int> gather(Group& group, int mine) {
  std::vector<int> all(static_cast<std::size_t>(group.ranks()));
  group.all_gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)));
  return all;
}

std::vector<int> first_numbers(int count) {
  std::vector<int> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

TEST(Group, GathersWhatEveryRankTellsInTheOrderOfRanks) {
  for (const int ranks : {1, 2, 3, 5, 8, 64})
    EXPECT_EQ(run_ranks(ranks,
                        [](Group& group) {
                          for (int round = 0; round < 20; ++round)
                            EXPECT_EQ(gather(group, group.rank()), first_numbers(group.ranks()));
                        }),
              Nothing(static_cast<std::size_t>(ranks)));
}

TEST(Group, KnowsTheHostOfEveryRank) {
  run_ranks(3, [](Group& group) { EXPECT_EQ(group.name(2), "rank 2 on h2"); });
}

TEST(Group, GathersTextsOfAnyLengthAndNone) {
  run_ranks(3, [](Group& group) {
    const std::size_t lengths[] = {0, 7, 300'000};
    const auto texts = group.gather_texts(
        std::string(lengths[group.rank()], static_cast<char>('a' + group.rank())));
    ASSERT_EQ(texts.size(), 3U);
    for (std::size_t rank = 0; rank < 3; ++rank)
      EXPECT_EQ(texts[rank], std::string(lengths[rank], static_cast<char>('a' + rank)));
  });
}

TEST(Group, BroadcastsFromAnyRank) {
  for (const int ranks : {1, 2, 3, 6, 8})
    for (int from = 0; from < ranks; ++from)
      EXPECT_EQ(run_ranks(ranks,
                          [from](Group& group) {
                            std::array<int, 1000> numbers{};
                            if (group.rank() == from)
                              std::iota(numbers.begin(), numbers.end(), from);
                            group.broadcast(from, std::as_writable_bytes(std::span(numbers)));
                            EXPECT_EQ(numbers[999], from + 999);
                          }),
                Nothing(static_cast<std::size_t>(ranks)));
}

// Slice r is long enough for two messages where r is 1, and empty where it is 2.
std::vector<std::vector<std::byte>> slices_of(int ranks) {
  std::vector<std::vector<std::byte>> slices(static_cast<std::size_t>(ranks));
  for (std::size_t rank = 0; rank < slices.size(); ++rank)
    slices[rank].resize(rank == 1 ? (std::size_t{1} << 20) + 5 : rank == 2 ? 0 : 10 + rank);
  return slices;
}

// The bytes of slices that are all `value(rank)`.
template <class Value>
void expect_slices(const std::vector<std::vector<std::byte>>& slices, Value value) {
  for (std::size_t rank = 0; rank < slices.size(); ++rank)
    EXPECT_EQ(slices[rank], std::vector(slices[rank].size(), std::byte(value(rank)))) << rank;
}

TEST(Group, MovesSlicesToOneFromOneAndToAll) {
  for (const int ranks : {1, 2, 3, 5})
    EXPECT_EQ(run_ranks(ranks,
                        [](Group& group) {
                          auto slices = slices_of(group.ranks());
                          const auto own = static_cast<std::size_t>(group.rank());
                          const std::vector<std::span<std::byte>> views(slices.begin(),
                                                                        slices.end());
                          std::ranges::fill(slices[own], std::byte(own + 1));
                          group.gather_slices(0, views);
                          if (group.rank() == 0) {
                            expect_slices(slices, [](std::size_t rank) { return rank + 1; });
                            for (auto& slice : slices)
                              for (std::byte& byte : slice) byte ^= std::byte{0x40};
                          }
                          group.scatter_slices(0, views);
                          EXPECT_EQ(slices[own],
                                    std::vector(slices[own].size(), std::byte((own + 1) ^ 0x40)));
                          group.all_gather_slices(views);
                          expect_slices(slices, [](std::size_t rank) { return (rank + 1) ^ 0x40; });
                        }),
              Nothing(static_cast<std::size_t>(ranks)));
}

// Sends its rank's number to the next rank as often as it is asked to.
class Ring : public Courier {
 public:
  explicit Ring(Group& group) : group_(group) { group.carry_for(this); }
  ~Ring() override { group_.carry_for(nullptr); }

  void ask() {
    ++asked_;
    group_.wake();
  }
  // False when the group failed.
  bool wait_for(int rounds) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return has_failed_ || done_ >= rounds; });
    return done_ >= rounds;
  }

  Progress advance(Transport& transport) override {
    if (requests_.empty()) {
      if (begun_ == asked_.load()) return Progress::idle;
      ++begun_;
      const int ranks = transport.ranks();
      mine_ = transport.rank();
      requests_ = {transport.receive((mine_ + ranks - 1) % ranks, kFirstCourierTag,
                                     std::as_writable_bytes(std::span(&heard_, 1))),
                   transport.send((mine_ + 1) % ranks, kFirstCourierTag,
                                  std::as_bytes(std::span(&mine_, 1)))};
    }
    const std::size_t before = requests_.size();
    std::erase_if(requests_, [&](Transport::Request it) { return transport.test(it); });
    if (!requests_.empty()) return requests_.size() < before ? Progress::moved : Progress::waiting;
    EXPECT_EQ(heard_, (mine_ + transport.ranks() - 1) % transport.ranks());
    const std::scoped_lock lock(mutex_);
    ++done_;
    changed_.notify_all();
    return Progress::moved;
  }
  bool is_awaited() const noexcept override { return true; }
  void fail() noexcept override {
    const std::scoped_lock lock(mutex_);
    has_failed_ = true;
    changed_.notify_all();
  }

 private:
  Group& group_;
  std::atomic<int> asked_{0};
  int begun_ = 0, mine_ = 0, heard_ = -1;  // the thread's
  std::vector<Transport::Request> requests_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int done_ = 0;
  bool has_failed_ = false;
};

TEST(Group, CarriesForACourierWhileRanksTellEachOtherSomething) {
  EXPECT_EQ(run_ranks(4,
                      [](Group& group) {
                        Ring ring(group);
                        for (int round = 0; round < 50; ++round) {
                          const int mine = group.rank();
                          std::array<int, 4> all{};
                          group.begin_gather(std::as_bytes(std::span(&mine, 1)),
                                             std::as_writable_bytes(std::span(all)));
                          ring.ask();
                          EXPECT_TRUE(ring.wait_for(round + 1));
                          group.end_gather();
                          EXPECT_EQ(all[3], 3);
                        }
                      }),
            Nothing(4));
}

TEST(Group, AllocatesNothingOnceWarm) {
  std::atomic<std::int64_t> most{0};
  run_ranks(2, [&](Group& group) {
    std::array<int, 2> all{};
    const int mine = group.rank();
    const auto tell = [&] {
      group.all_gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)));
    };
    for (int round = 0; round < 10; ++round) tell();
    const std::int64_t before = allocations_so_far();
    for (int round = 0; round < 10; ++round) tell();
    if (group.rank() == 0) most = allocations_so_far() - before;
    tell();  // nobody ends while the other counts
  });
  EXPECT_EQ(most, 0);
}

TEST(Group, ARankThatDiesAtAnyWordEndsAllOthers) {
  for (int last = 0; last < 8; ++last) {
    const Nothing thrown = run_ranks(4, [last](Group& group) {
      Ring ring(group);
      for (int round = 0; round < 1'000'000; ++round) {
        if (group.rank() == 2 && round == last)
          throw DataError({.where = "rank 2", .got = "it died", .expected = "expected its life"});
        ring.ask();
        gather(group, round);
        if (!ring.wait_for(round + 1)) gather(group, round);
      }
    });
    for (const std::string& text : thrown)
      EXPECT_NE(text.find("rank 2"), std::string::npos) << text;
  }
}

TEST(Group, WhatItsTransportCannotBeMadeOfIsThrown) {
  const auto make = []() -> std::unique_ptr<Transport> {
    throw UsageError({.where = "--ranks", .got = "none", .expected = "expected some"});
  };
  EXPECT_THROW(Group(make, "h"), UsageError);
}

TEST(Group, RankZeroHearsWhereOthersAreAndWhoIsSilent) {
  run_ranks(3, [](Group& group) {
    Beat beat{.step = 10 + group.rank()};
    beat.set_doing("training");
    group.note(beat);
    if (group.rank() == 0) {
      std::vector<Heard> heard;
      const auto is_complete = [&] {
        heard = group.heard();
        return heard.size() == 2 && heard[0].beat.step == 11 && heard[1].beat.step == 12;
      };
      for (int i = 0; i < 1000 && !is_complete(); ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      EXPECT_TRUE(is_complete());
      EXPECT_EQ(heard.at(0).beat.doing_text(), "training");
    }
    gather(group, 0);
  });
}

}  // namespace
}  // namespace plimsoll::dist
