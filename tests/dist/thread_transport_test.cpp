#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <numeric>
#include <thread>

#include "base/error.h"
#include "dist/transport.h"
#include "tests/support/allocation_counter.h"

namespace plimsoll::dist {
namespace {

std::span<const std::byte> bytes_of(const auto& value) {
  return std::as_bytes(std::span(&value, 1));
}
std::span<std::byte> room_of(auto& value) { return std::as_writable_bytes(std::span(&value, 1)); }

void wait(Transport& transport, Transport::Request request) {
  while (!transport.test(request)) std::this_thread::yield();
}

// Runs `body(transport)` as every rank, each destroying its transport when it is done; returns
// what each threw, empty for nothing.
template <typename Body>
std::vector<std::string> run_ranks(int ranks, Body body) {
  std::vector<std::unique_ptr<Transport>> transports = make_thread_transports(ranks);
  std::vector<std::string> thrown(transports.size());
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < transports.size(); ++rank)
    threads.emplace_back([&thrown, rank, &body, transport = std::move(transports[rank])]() mutable {
      try {
        body(*transport);
      } catch (const Error& error) {
        thrown[rank] = error.what();
      }
      transport.reset();
    });
  for (std::thread& thread : threads) thread.join();
  return thrown;
}

TEST(ThreadTransport, DeliversMessagesOfOneTagInTheOrderTheyWerePosted) {
  const auto thrown = run_ranks(2, [](Transport& mine) {
    std::array<int, 100> values{};
    std::vector<Transport::Request> requests;
    if (mine.rank() == 0) std::iota(values.begin(), values.end(), 0);
    for (int& value : values)
      requests.push_back(mine.rank() == 0 ? mine.send(1, 7, bytes_of(value))
                                          : mine.receive(0, 7, room_of(value)));
    for (const Transport::Request request : requests) wait(mine, request);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(values[static_cast<std::size_t>(i)], i);
  });
  EXPECT_EQ(thrown, std::vector<std::string>(2));
}

TEST(ThreadTransport, KeepsTagsApart) {
  const auto thrown = run_ranks(2, [](Transport& mine) {
    int first = mine.rank() == 0 ? 10 : 0;
    int second = mine.rank() == 0 ? 20 : 0;
    if (mine.rank() == 0) {
      const auto a = mine.send(1, 1, bytes_of(first));
      const auto b = mine.send(1, 2, bytes_of(second));
      wait(mine, b);
      wait(mine, a);
    } else {
      wait(mine, mine.receive(0, 2, room_of(second)));
      EXPECT_EQ(second, 20);
      wait(mine, mine.receive(0, 1, room_of(first)));
      EXPECT_EQ(first, 10);
    }
  });
  EXPECT_EQ(thrown, std::vector<std::string>(2));
}

TEST(ThreadTransport, SixtyFourRanksTellEachOtherTheirNumbers) {
  constexpr int kRanks = 64;
  const auto thrown = run_ranks(kRanks, [](Transport& mine) {
    const int own = mine.rank();
    std::array<int, kRanks> heard{};
    std::vector<Transport::Request> requests;
    for (int other = 0; other < kRanks; ++other) {
      requests.push_back(mine.receive(other, 3, room_of(heard[static_cast<std::size_t>(other)])));
      requests.push_back(mine.send(other, 3, bytes_of(own)));
    }
    for (const Transport::Request request : requests) wait(mine, request);
    for (int other = 0; other < kRanks; ++other)
      EXPECT_EQ(heard[static_cast<std::size_t>(other)], other);
  });
  EXPECT_EQ(thrown, std::vector<std::string>(kRanks));
}

TEST(ThreadTransport, AllocatesNothingOnceWarm) {
  std::vector<std::unique_ptr<Transport>> transports = make_thread_transports(2);
  std::int64_t value = 5;
  std::int64_t heard = 0;
  const auto exchange = [&] {
    const auto a = transports[1]->receive(0, 1, room_of(heard));
    const auto b = transports[0]->send(1, 1, bytes_of(value));
    EXPECT_TRUE(transports[0]->test(b));
    EXPECT_TRUE(transports[1]->test(a));
  };
  exchange();
  const std::int64_t before = allocations_so_far();
  exchange();
  EXPECT_EQ(allocations_so_far() - before, 0);
}

TEST(ThreadTransport, OfALengthThatWasNotExpectedTellsBothSides) {
  std::vector<std::unique_ptr<Transport>> transports = make_thread_transports(2);
  const std::int64_t sent = 1;
  std::int32_t received = 0;
  const auto a = transports[0]->send(1, 1, bytes_of(sent));
  const auto b = transports[1]->receive(0, 1, room_of(received));
  EXPECT_THROW(transports[0]->test(a), DataError);
  EXPECT_THROW(transports[1]->test(b), DataError);
}

// Every rank sends its number round and round; one leaves after some messages.
TEST(ThreadTransport, ARankThatDiesAtAnyMessageEndsAllOthers) {
  constexpr int kRanks = 4;
  for (int last = 0; last < 12; ++last) {
    const auto thrown = run_ranks(kRanks, [last](Transport& mine) {
      const int next = (mine.rank() + 1) % kRanks;
      const int previous = (mine.rank() + kRanks - 1) % kRanks;
      int token = mine.rank();
      for (int round = 0; round < 1'000'000; ++round) {
        if (mine.rank() == 2 && round == last) return;
        int heard = 0;
        const auto a = mine.receive(previous, 0, room_of(heard));
        const auto b = mine.send(next, 0, bytes_of(token));
        wait(mine, a);
        wait(mine, b);
        token = heard;
      }
    });
    for (std::size_t rank = 0; rank < kRanks; ++rank) {
      if (rank == 2) continue;
      EXPECT_NE(thrown[rank].find("it is gone"), std::string::npos) << thrown[rank];
    }
  }
}

TEST(ThreadTransport, AnAbortEndsThoseWhoWaitForSomebodyElse) {
  std::vector<std::unique_ptr<Transport>> transports = make_thread_transports(3);
  int heard = 0;
  const auto request = transports[0]->receive(1, 0, room_of(heard));
  EXPECT_FALSE(transports[0]->test(request));
  transports[2]->abort(4);
  try {
    transports[0]->test(request);
    FAIL() << "the abort was not noticed";
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("rank 2"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace plimsoll::dist
