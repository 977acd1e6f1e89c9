#include <algorithm>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>

#include "base/error.h"
#include "dist/transport.h"

namespace plimsoll::dist {
namespace {

enum class State { free, pending, done, other_length };

struct Slot {
  State state = State::free;
  int peer = 0;
};

// One side of a message that waits for the other.
struct Post {
  int tag = 0;
  const std::byte* from = nullptr;  // a send's
  std::byte* into = nullptr;        // a receive's
  std::size_t size = 0;
  Transport::Request request = 0;
};

// What all ranks share. A message is copied by whoever posts its second half: no send is done
// before it was received, so what deadlocks over a network does so here too.
class Hall {
 public:
  explicit Hall(int ranks)
      : ranks_(ranks), pairs_(index(ranks, 0)), slots_(count(ranks)), gone_(count(ranks)) {
    // How many messages wait at once is a matter of luck; steps that are counted allocate nothing.
    for (Pair& pair : pairs_) {
      pair.sends.reserve(kWaiting);
      pair.receives.reserve(kWaiting);
    }
    for (std::vector<Slot>& slots : slots_) slots.reserve(2 * kWaiting * count(ranks));
  }

  int ranks() const { return ranks_; }

  Transport::Request post(int from, int to, bool is_send, Post half) {
    const std::scoped_lock lock(mutex_);
    const int self = is_send ? from : to;
    half.request = free_slot(self);
    slots_[count(self)][count(half.request)] = {State::pending, is_send ? to : from};
    Pair& pair = pairs_[index(from, to)];
    std::vector<Post>& others = is_send ? pair.receives : pair.sends;
    const auto other =
        std::ranges::find_if(others, [&](const Post& it) { return it.tag == half.tag; });
    if (other == others.end()) {
      (is_send ? pair.sends : pair.receives).push_back(half);
      return half.request;
    }
    const State ended = other->size == half.size ? State::done : State::other_length;
    const Post& sent = is_send ? half : *other;
    const Post& received = is_send ? *other : half;
    if (ended == State::done && half.size > 0) std::memcpy(received.into, sent.from, half.size);
    slots_[count(from)][count(sent.request)].state = ended;
    slots_[count(to)][count(received.request)].state = ended;
    const Transport::Request request = half.request;
    others.erase(other);
    return request;
  }

  bool test(int self, Transport::Request request) {
    const std::scoped_lock lock(mutex_);
    Slot& slot = slots_[count(self)][count(request)];
    expect(slot.state != State::free, "a request that is gone was tested");
    if (slot.state == State::done) {
      slot.state = State::free;
      return true;
    }
    const std::string peer = "rank " + std::to_string(slot.peer);
    if (slot.state == State::other_length)
      throw DataError({.where = peer,
                       .got = "a message of another length",
                       .expected = "expected the same program on all ranks"});
    if (aborted_by_ >= 0)
      throw DataError({.where = "rank " + std::to_string(aborted_by_),
                       .got = "it ended the run",
                       .expected = "expected all ranks to the end"});
    if (gone_[count(slot.peer)])
      throw DataError(
          {.where = peer, .got = "it is gone", .expected = "expected all ranks to the end"});
    return false;
  }

  void abort(int self) noexcept {
    const std::scoped_lock lock(mutex_);
    if (aborted_by_ < 0) aborted_by_ = self;
  }

  void leave(int self) noexcept {
    const std::scoped_lock lock(mutex_);
    gone_[count(self)] = true;
    for (int other = 0; other < ranks_; ++other) {
      pairs_[index(self, other)].sends.clear();
      pairs_[index(other, self)].receives.clear();
    }
  }

 private:
  struct Pair {
    std::vector<Post> sends;
    std::vector<Post> receives;
  };

  static constexpr std::size_t kWaiting = 32;  // messages from one rank to another

  static std::size_t count(int number) { return static_cast<std::size_t>(number); }
  std::size_t index(int from, int to) const { return count(from) * count(ranks_) + count(to); }

  Transport::Request free_slot(int self) {
    std::vector<Slot>& mine = slots_[count(self)];
    const auto found =
        std::ranges::find_if(mine, [](const Slot& it) { return it.state == State::free; });
    if (found != mine.end()) return static_cast<Transport::Request>(found - mine.begin());
    mine.emplace_back();
    return static_cast<Transport::Request>(mine.size() - 1);
  }

  const int ranks_;
  std::mutex mutex_;  // guards what follows
  std::vector<Pair> pairs_;
  std::vector<std::vector<Slot>> slots_;  // of each rank
  std::vector<bool> gone_;
  int aborted_by_ = -1;
};

class ThreadTransport : public Transport {
 public:
  ThreadTransport(std::shared_ptr<Hall> hall, int rank) : hall_(std::move(hall)), rank_(rank) {}
  ~ThreadTransport() override { hall_->leave(rank_); }

  int rank() const override { return rank_; }
  int ranks() const override { return hall_->ranks(); }
  Request send(int to, int tag, std::span<const std::byte> bytes) override {
    return hall_->post(rank_, to, true, {.tag = tag, .from = bytes.data(), .size = bytes.size()});
  }
  Request receive(int from, int tag, std::span<std::byte> bytes) override {
    return hall_->post(from, rank_, false,
                       {.tag = tag, .into = bytes.data(), .size = bytes.size()});
  }
  bool test(Request request) override { return hall_->test(rank_, request); }
  void abort(int) noexcept override { hall_->abort(rank_); }

 private:
  std::shared_ptr<Hall> hall_;
  int rank_;
};

}  // namespace

std::vector<std::unique_ptr<Transport>> make_thread_transports(int ranks) {
  const auto hall = std::make_shared<Hall>(ranks);
  std::vector<std::unique_ptr<Transport>> transports;
  for (int rank = 0; rank < ranks; ++rank)
    transports.push_back(std::make_unique<ThreadTransport>(hall, rank));
  return transports;
}

}  // namespace plimsoll::dist
