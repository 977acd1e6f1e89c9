// Sums over ranks have the bits of the tree, whoever holds what and whatever messages do.
#include "dist/exchange.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <memory>
#include <utility>

#include "base/error.h"
#include "base/random.h"
#include "tests/support/allocation_counter.h"
#include "tests/support/ranks.h"

namespace plimsoll::dist {
namespace {

// Posts sends late and in another order, as far as a pair and tag allow, and is slow to tell.
class FickleTransport final : public Transport {
 public:
  FickleTransport(std::unique_ptr<Transport> under, std::uint64_t seed)
      : under_(std::move(under)), random_(seed) {}

  int rank() const override { return under_->rank(); }
  int ranks() const override { return under_->ranks(); }
  Request send(int to, int tag, std::span<const std::byte> bytes) override {
    late_.push_back({next_, to, tag, bytes});
    return next_++;
  }
  Request receive(int from, int tag, std::span<std::byte> bytes) override {
    posted_[next_] = under_->receive(from, tag, bytes);
    return next_++;
  }
  bool test(Request request) override {
    post_one();
    const auto found = posted_.find(request);
    if (found == posted_.end() || draw(3) == 0 || !under_->test(found->second)) return false;
    posted_.erase(found);
    return true;
  }
  void abort(int exit_code) noexcept override { under_->abort(exit_code); }

 private:
  struct Late {
    Request request;
    int to;
    int tag;
    std::span<const std::byte> bytes;
  };
  std::uint64_t draw(std::uint64_t limit) { return splitmix64(random_++) % limit; }
  void post_one() {
    if (late_.empty() || draw(2) == 0) return;
    const Late chosen = late_[draw(late_.size())];
    for (auto first = late_.begin(); first != late_.end(); ++first) {
      if (first->to != chosen.to || first->tag != chosen.tag) continue;
      posted_[first->request] = under_->send(first->to, first->tag, first->bytes);
      late_.erase(first);
      return;
    }
  }

  std::unique_ptr<Transport> under_;
  std::uint64_t random_;
  Request next_ = 1;
  std::vector<Late> late_;
  std::map<Request, Request> posted_;
};

float part_value(int part, std::int64_t element) {
  const double value = signed_unit(static_cast<std::uint64_t>(part), at(element));
  return static_cast<float>(value * std::exp2(element % 9));
}

// By the definition alone.
float tree_sum(int begin, int end, std::int64_t element) {
  if (end - begin == 1) return part_value(begin, element);
  int half = 1;
  while (2 * half < end - begin) half *= 2;
  return tree_sum(begin, begin + half, element) + tree_sum(begin + half, end, element);
}

// One rank: its tensors with what it holds of every one, and what carries them.
struct RankState {
  std::vector<std::vector<float>> memory;
  std::vector<Bucket> buckets;
  std::unique_ptr<TensorCourier> courier;
  std::unique_ptr<Transport> transport;
};

using Shape = std::vector<std::vector<std::int64_t>>;  // elements of the tensors of each bucket

struct Meeting {
  int parts = 1;
  Holdings holdings;
  std::vector<RankState> ranks;
};

// Fills in what a rank holds: nodes in slots, the last where the sum will be.
void hold(Meeting& meeting, int number, const Shape& shape) {
  RankState& rank = meeting.ranks[at(number)];
  const auto ranks = static_cast<int>(meeting.ranks.size());
  const auto nodes = nodes_of(range_of(number, ranks, meeting.parts), meeting.parts);
  std::int64_t element = 0;
  rank.memory.clear();
  rank.buckets.clear();
  for (const auto& tensors : shape) {
    Bucket bucket;
    for (const std::int64_t elements : tensors) {
      SummedTensor tensor{.elements = elements, .slots = {}};
      for (std::size_t n = 0; n < std::max<std::size_t>(1, nodes.size()); ++n) {
        std::vector<float>& values = rank.memory.emplace_back(at(elements), NAN);
        for (std::int64_t i = 0; i < elements && n < nodes.size(); ++i)
          values[at(i)] = tree_sum(nodes[n].begin, nodes[n].end, element + i);
        if (n + 1 < nodes.size())
          tensor.slots.push_back(values.data());
        else
          tensor.sum = values.data();
      }
      element += elements;
      bucket.elements += elements;
      bucket.tensors.push_back(std::move(tensor));
    }
    rank.buckets.push_back(std::move(bucket));
  }
}

Meeting meet(int parts, int ranks, const Shape& shape, std::int64_t piece, std::uint64_t seed = 0) {
  Meeting meeting{.parts = parts, .holdings = holdings_of(parts, ranks), .ranks = {}};
  auto transports = make_thread_transports(ranks);
  meeting.ranks.resize(transports.size());
  for (int r = 0; r < ranks; ++r) {
    RankState& rank = meeting.ranks[at(r)];
    const Staging staging = staging_of({&meeting.holdings, 1}, r, ranks, piece);
    rank.courier = std::make_unique<TensorCourier>(r, ranks, staging);
    rank.transport = std::move(transports[at(r)]);
    if (seed != 0)
      rank.transport = std::make_unique<FickleTransport>(std::move(rank.transport),
                                                         splitmix64(seed) + at(r) * 1000003);
  }
  for (int r = 0; r < ranks; ++r) hold(meeting, r, shape);
  return meeting;
}

// Everybody posts a bucket now and then; whose turn it is, chance decides.
void exchange(Meeting& meeting, std::uint64_t seed) {
  const std::size_t ranks = meeting.ranks.size();
  std::vector<std::size_t> posted(ranks, 0);
  for (RankState& rank : meeting.ranks) rank.courier->begin_step(meeting.holdings, rank.buckets);
  std::uint64_t turn = splitmix64(seed);
  std::size_t idle = 0;
  while (idle < ranks) {
    const std::size_t r = splitmix64(++turn) % ranks;
    RankState& rank = meeting.ranks[r];
    if (posted[r] < rank.buckets.size() && turn % 3 == 0) {
      rank.courier->post();
      ++posted[r];
    }
    rank.courier->advance(*rank.transport);
    idle = 0;
    for (std::size_t other = 0; other < ranks; ++other)
      if (posted[other] == meeting.ranks[other].buckets.size() &&
          meeting.ranks[other].courier->advance(*meeting.ranks[other].transport) ==
              Courier::Progress::idle)
        ++idle;
  }
  for (RankState& rank : meeting.ranks) rank.courier->end_step();
}

void expect_sums(const Meeting& meeting, std::size_t rank) {
  std::int64_t element = 0;
  for (const Bucket& bucket : meeting.ranks[rank].buckets)
    for (const SummedTensor& tensor : bucket.tensors)
      for (std::int64_t i = 0; i < tensor.elements; ++i, ++element)
        ASSERT_EQ(tensor.sum[i], tree_sum(0, meeting.parts, element))
            << "element " << element << " of rank " << rank << " of " << meeting.ranks.size()
            << ", " << meeting.parts << " parts";
}

void expect_sums(const Meeting& meeting) {
  for (std::size_t rank = 0; rank < meeting.ranks.size(); ++rank) expect_sums(meeting, rank);
}

TEST(Exchange, GivesTheTreesBitsForEveryNumberOfPartsAndRanks) {
  const Shape shape{{5, 1, 40}, {3}, {17, 17}};
  for (int parts = 1; parts <= 32; ++parts)
    for (int ranks = 2; ranks <= parts; ++ranks) {
      Meeting meeting = meet(parts, ranks, shape, 20);
      exchange(meeting, static_cast<std::uint64_t>(parts * 100 + ranks));
      expect_sums(meeting);
    }
}

TEST(Exchange, RanksWithoutAPartGetTheSumToo) {
  for (int parts = 1; parts <= 4; ++parts)
    for (int ranks = parts + 1; ranks <= 8; ++ranks) {
      Meeting meeting = meet(parts, ranks, {{9, 30}, {1}}, 16);
      exchange(meeting, 1);
      expect_sums(meeting);
    }
}

TEST(Exchange, WorksForSixtyFourRanks) {
  for (int parts : {64, 100}) {
    Meeting meeting = meet(parts, 64, {{1000, 3, 700}, {200}}, 512);
    exchange(meeting, 2);
    expect_sums(meeting);
  }
}

TEST(Exchange, SurvivesDelaysAndMessagesOutOfOrder) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const int parts = 2 + static_cast<int>(splitmix64(seed) % 15);
    const int ranks = 2 + static_cast<int>(splitmix64(seed + 1000) % at(parts - 1));
    Meeting meeting = meet(parts, ranks, {{50, 7}, {64}, {2}, {90}}, 33, seed);
    exchange(meeting, seed);
    expect_sums(meeting);
  }
}

TEST(Exchange, GivesTheSameBitsInPiecesOfAnySize) {
  for (const std::int64_t piece : {1, 2, 7, 64, 1000}) {
    Meeting meeting = meet(8, 3, {{50, 7}, {64}, {2}, {90}}, piece);
    exchange(meeting, 5);
    expect_sums(meeting);
  }
}

TEST(Exchange, GivesTheSameBitsWhereASliceTakesSeveralMessages) {
  for (const int ranks : {2, 3}) {
    Meeting meeting = meet(8, ranks, {{150'000, 9}, {70'001}}, 150'009);
    exchange(meeting, 6);
    expect_sums(meeting);
  }
}

// In steps of three ranks with such buckets.
void expect_no_allocations(const Shape& shape, std::int64_t piece) {
  Meeting meeting = meet(8, 3, shape, piece);
  std::int64_t grown = 0;
  for (int step = 0; step < 10; ++step) {
    for (int r = 0; r < 3; ++r) hold(meeting, r, shape);
    for (RankState& rank : meeting.ranks) rank.courier->begin_step(meeting.holdings, rank.buckets);
    const std::int64_t before = allocations_so_far();
    for (RankState& rank : meeting.ranks)
      for (std::size_t b = 0; b < rank.buckets.size(); ++b) rank.courier->post();
    for (std::size_t idle = 0; idle < meeting.ranks.size();) {
      idle = 0;
      for (RankState& rank : meeting.ranks)
        idle += rank.courier->advance(*rank.transport) == Courier::Progress::idle ? 1 : 0;
    }
    grown = allocations_so_far() - before;
    expect_sums(meeting);
  }
  EXPECT_EQ(grown, 0) << "in step 10";
}

TEST(Exchange, AllocatesNothingOnceWarm) {
  if (!allocations_are_counted()) GTEST_SKIP() << "a sanitizer owns malloc";
  expect_no_allocations({{50, 7}, {64}}, 33);
  expect_no_allocations({{150'000}, {9}}, 150'000);
}

// Whoever waits for a rank that is gone is told so, however far the two have come.
TEST(Exchange, ARankThatIsGoneIsNoticedAtAnyMessage) {
  const Shape shape{{50, 7}, {64}};
  for (int turns = 0; turns < 40; ++turns) {
    Meeting meeting = meet(4, 3, shape, 33);
    for (RankState& rank : meeting.ranks) {
      rank.courier->begin_step(meeting.holdings, rank.buckets);
      for (std::size_t b = 0; b < rank.buckets.size(); ++b) rank.courier->post();
    }
    for (int turn = 0; turn < turns; ++turn)
      meeting.ranks[at(turn % 3)].courier->advance(*meeting.ranks[at(turn % 3)].transport);
    meeting.ranks[1].transport.reset();
    std::vector<bool> ended{false, true, false};
    for (int turn = 0; turn < 1000; ++turn)
      for (const std::size_t r : {std::size_t{0}, std::size_t{2}}) try {
          if (!ended[r])
            ended[r] = meeting.ranks[r].courier->advance(*meeting.ranks[r].transport) ==
                       Courier::Progress::idle;
        } catch (const DataError&) {
          ended[r] = true;
          meeting.ranks[r].transport.reset();
        }
    EXPECT_TRUE(ended[0] && ended[2]) << "after " << turns << " turns";
  }
}

// As in a run: the thread of each group carries while another one posts and waits.
TEST(Exchange, IsCarriedByTheThreadsOfGroups) {
  constexpr int kRanks = 5;
  const Shape shape{{50, 7}, {64}, {2}, {90}};
  Meeting meeting = meet(8, kRanks, shape, 33);
  const std::vector<std::string> thrown = run_ranks(kRanks, [&](dist::Group& group) {
    RankState& rank = meeting.ranks[at(group.rank())];
    group.carry_for(rank.courier.get());
    for (int step = 0; step < 50; ++step) {
      hold(meeting, group.rank(), shape);
      rank.courier->begin_step(meeting.holdings, rank.buckets);
      for (std::size_t bucket = 0; bucket < shape.size(); ++bucket) {
        rank.courier->post();
        group.wake();
        if (step % 3 == group.rank() % 3) rank.courier->wait_for(bucket);
      }
      rank.courier->end_step();
      expect_sums(meeting, at(group.rank()));
    }
    EXPECT_GT(rank.courier->bytes_received(), 0);
    group.carry_for(nullptr);
  });
  for (const std::string& text : thrown) EXPECT_EQ(text, "");
}

TEST(Exchange, AFailureWakesWhoeverWaits) {
  Meeting meeting = meet(2, 2, {{8}}, 8);
  TensorCourier& courier = *meeting.ranks[0].courier;
  courier.begin_step(meeting.holdings, meeting.ranks[0].buckets);
  courier.post();
  EXPECT_FALSE(courier.has_failed());
  courier.fail();
  courier.wait_for(1);
  courier.end_step();
  EXPECT_TRUE(courier.has_failed());
}

}  // namespace
}  // namespace plimsoll::dist
