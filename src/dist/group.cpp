#include "dist/group.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace plimsoll::dist {
namespace {

constexpr int kExchangeTag = 0;
// MPI's own waiting burns a core; a short one is not worth a sleep.
constexpr int kTestsBeforeSleep = 50;
constexpr std::chrono::microseconds kSleep{50};
// While nothing but a courier's bytes is under way, which move without us as long as buffers last.
constexpr std::chrono::microseconds kLongestSleep{400};
// The same while the owner computes: every look takes the core from it, and its caches.
constexpr std::chrono::microseconds kPatientSleep{2000};
constexpr std::chrono::duration<double> kBetweenBeats{Heartbeat::kEvery / 2};

std::size_t index(int number) { return static_cast<std::size_t>(number); }

}  // namespace

Group::Group(const MakeTransport& make, const std::string& host)
    : thread_([this, make] { run(make); }) {
  std::unique_lock lock(mutex_);
  done_.wait(lock, [&] { return is_ready_ || failure_; });
  const std::exception_ptr failure = failure_;
  lock.unlock();
  try {
    if (failure) std::rethrow_exception(failure);
    hosts_ = gather_texts(host);
  } catch (...) {
    lock.lock();
    stop_ = true;
    lock.unlock();
    work_.notify_all();
    thread_.join();
    throw;
  }
}

Group::~Group() {
  if (!is_closed_) abort(1);
  {
    const std::scoped_lock lock(mutex_);
    stop_ = true;
  }
  work_.notify_all();
  thread_.join();
}

std::string Group::name(int rank) const { return fmt::format("rank {} on {}", rank, host(rank)); }

void Group::begin(std::span<const Message> messages) {
  {
    const std::scoped_lock lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
    expect(!is_under_way_, "ranks tell each other one thing at a time");
    told_.assign(messages.begin(), messages.end());
    is_under_way_ = true;
  }
  work_.notify_one();
}

void Group::end() {
  if (watch_waits_) watch_waits_(true);
  std::unique_lock lock(mutex_);
  done_.wait(lock, [&] { return !is_under_way_ || failure_; });
  const std::exception_ptr failure = failure_;
  lock.unlock();
  if (watch_waits_) watch_waits_(false);
  if (failure) std::rethrow_exception(failure);
}

void Group::begin_gather(std::span<const std::byte> mine, std::span<std::byte> all) {
  expect(all.size() == mine.size() * index(ranks_), "room for every rank's bytes");
  std::ranges::copy(mine, all.begin() + static_cast<std::ptrdiff_t>(mine.size()) * rank_);
  gathered_.clear();
  // Neighbours first, so that not all begin with rank 0.
  for (int distance = 1; distance < ranks_; ++distance) {
    const int from = (rank_ - distance + ranks_) % ranks_;
    gathered_.push_back({.peer = from, .in = all.subspan(mine.size() * index(from), mine.size())});
    gathered_.push_back({.peer = (rank_ + distance) % ranks_, .is_send = true, .out = mine});
  }
  begin(gathered_);
}

void Group::end_gather() { end(); }

void Group::all_gather(std::span<const std::byte> mine, std::span<std::byte> all) {
  begin_gather(mine, all);
  end_gather();
}

std::vector<std::string> Group::gather_texts(std::string_view mine) {
  const std::uint64_t length = mine.size();
  std::vector<std::uint64_t> lengths(index(ranks_));
  all_gather(std::as_bytes(std::span(&length, 1)), std::as_writable_bytes(std::span(lengths)));
  for (int rank = 0; rank < ranks_; ++rank)
    if (lengths[index(rank)] > kLongestText)
      throw DataError({.where = fmt::format("rank {}", rank),
                       .got = fmt::format("it tells {} bytes", lengths[index(rank)]),
                       .expected = fmt::format("expected at most {}", kLongestText)});
  std::vector<std::string> texts(index(ranks_));
  std::vector<Message> messages;
  for (int rank = 0; rank < ranks_; ++rank) {
    std::string& text = texts[index(rank)];
    if (rank == rank_) {
      text = mine;
      continue;
    }
    text.resize(lengths[index(rank)]);
    messages.push_back({.peer = rank, .in = std::as_writable_bytes(std::span(text))});
    messages.push_back({.peer = rank, .is_send = true, .out = std::as_bytes(std::span(mine))});
  }
  begin(messages);
  end();
  return texts;
}

void Group::broadcast(int from, std::span<std::byte> bytes) {
  // A binomial tree: in the round of `distance` those below it, counted from the root, have them.
  const int place = (rank_ - from + ranks_) % ranks_;
  for (int distance = 1; distance < ranks_; distance *= 2) {
    Message message;
    if (place < distance && place + distance < ranks_)
      message = {.peer = (rank_ + distance) % ranks_, .is_send = true, .out = bytes};
    else if (place >= distance && place < 2 * distance)
      message = {.peer = (rank_ - distance + ranks_) % ranks_, .in = bytes};
    else
      continue;
    begin({&message, 1});
    end();
  }
}

// Piece by piece, so that no message is long; `route` makes the messages of a slice's.
template <class Route>
void Group::move_slices(Slices slices, Route route) {
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  expect(slices.size() == index(ranks_), "a slice for every rank");
  std::size_t longest = 0;
  for (const std::span<std::byte> slice : slices) longest = std::max(longest, slice.size());
  std::vector<Message> messages;
  for (std::size_t at = 0; at < longest; at += kPiece) {
    messages.clear();
    for (int rank = 0; rank < ranks_; ++rank) {
      const std::span<std::byte> slice = slices[index(rank)];
      if (at < slice.size())
        route(rank, slice.subspan(at, std::min(kPiece, slice.size() - at)), messages);
    }
    begin(messages);
    end();
  }
}

void Group::gather_slices(int to, Slices slices) {
  move_slices(slices, [&](int rank, std::span<std::byte> piece, std::vector<Message>& messages) {
    if (rank_ == to && rank != to) messages.push_back({.peer = rank, .in = piece});
    if (rank_ == rank && rank != to)
      messages.push_back({.peer = to, .is_send = true, .out = piece});
  });
}

void Group::scatter_slices(int from, Slices slices) {
  move_slices(slices, [&](int rank, std::span<std::byte> piece, std::vector<Message>& messages) {
    if (rank_ == from && rank != from)
      messages.push_back({.peer = rank, .is_send = true, .out = piece});
    if (rank_ == rank && rank != from) messages.push_back({.peer = from, .in = piece});
  });
}

void Group::all_gather_slices(Slices slices) {
  move_slices(slices, [&](int rank, std::span<std::byte> piece, std::vector<Message>& messages) {
    if (rank != rank_) messages.push_back({.peer = rank, .in = piece});
    for (int other = 0; rank == rank_ && other < ranks_; ++other)
      if (other != rank_) messages.push_back({.peer = other, .is_send = true, .out = piece});
  });
}

void Group::carry_for(Courier* courier) {
  std::unique_lock lock(mutex_);
  awaits_round_ = true;
  done_.wait(lock, [&] { return !is_advancing_; });
  awaits_round_ = false;
  courier_ = courier;
  is_woken_ = courier != nullptr;
  const bool has_failed = failure_ != nullptr;
  lock.unlock();
  if (has_failed && courier != nullptr) courier->fail();
  work_.notify_one();
}

void Group::wake() noexcept {
  {
    const std::scoped_lock lock(mutex_);
    is_woken_ = true;
  }
  work_.notify_one();
}

void Group::note(const Beat& beat) {
  heartbeat_.set(beat);
  {
    const std::scoped_lock lock(mutex_);
    has_beats_ = true;
  }
  work_.notify_one();
}

std::vector<Heard> Group::heard() const { return heartbeat_.heard(); }

void Group::close() {
  {
    // One that has left would be missed by beats that are still under way.
    const std::scoped_lock lock(mutex_);
    has_beats_ = false;
  }
  const std::byte end{};
  std::vector<std::byte> ends(index(ranks_));
  all_gather({&end, 1}, ends);
  is_closed_ = true;
}

void Group::abort(int exit_code) noexcept {
  {
    const std::scoped_lock lock(mutex_);
    if (abort_code_ == 0) abort_code_ = exit_code;
  }
  work_.notify_one();
}

void Group::run(const MakeTransport& make) noexcept {
  std::unique_ptr<Transport> transport;
  std::exception_ptr failure;
  std::unique_lock lock(mutex_, std::defer_lock);
  try {
    transport = make();
    requests_.reserve(2 * index(transport->ranks()));
    lock.lock();
    rank_ = transport->rank();
    ranks_ = transport->ranks();
    is_ready_ = true;
    done_.notify_all();
    carry(*transport, lock);
  } catch (...) {
    failure = std::current_exception();
  }
  if (lock.owns_lock()) lock.unlock();
  // Before anybody hears of it: what is posted lies in memory of those who wait.
  transport.reset();
  lock.lock();
  failure_ = failure;
  is_advancing_ = false;
  if (failure_ && courier_ != nullptr) courier_->fail();
  done_.notify_all();
}

void Group::carry(Transport& transport, std::unique_lock<std::mutex>& lock) {
  int tests = 0;
  std::chrono::microseconds sleep = kSleep;
  while (true) {
    if (abort_code_ > 0) transport.abort(std::exchange(abort_code_, -1));
    if (stop_) return;
    if (!is_under_way_ && !is_woken_) {
      if (has_beats_)
        work_.wait_for(lock, kBetweenBeats, [&] { return has_work(); });
      else
        work_.wait(lock, [&] { return has_work() || has_beats_; });
      tests = 0;
      if (stop_ || abort_code_ > 0) continue;
    }
    Courier* const courier = std::exchange(is_woken_, false) ? courier_ : nullptr;
    const bool was_under_way = is_under_way_;
    const bool with_beats = has_beats_;
    std::swap(told_, posting_);
    is_advancing_ = true;
    lock.unlock();
    const Progress progress = advance(transport, courier, with_beats);
    lock.lock();
    is_advancing_ = false;
    if (progress.courier != Courier::Progress::idle) is_woken_ = true;
    if (was_under_way && requests_.empty()) is_under_way_ = false;
    if (was_under_way != is_under_way_ || awaits_round_) done_.notify_all();
    tests = progress.has_moved ? 0 : tests + 1;
    if (tests == 0 || is_under_way_) sleep = kSleep;
    const bool is_patient = !is_under_way_ && !progress.is_awaited;
    if (tests < (is_patient ? 1 : kTestsBeforeSleep) || !(is_under_way_ || is_woken_)) continue;
    work_.wait_for(lock, is_patient ? kPatientSleep : sleep);
    if (!is_under_way_) sleep = std::min(2 * sleep, kLongestSleep);
  }
}

Group::Progress Group::advance(Transport& transport, Courier* courier, bool with_beats) {
  Progress progress;
  for (const Message& message : posting_)
    requests_.push_back(message.is_send
                            ? transport.send(message.peer, kExchangeTag, message.out)
                            : transport.receive(message.peer, kExchangeTag, message.in));
  progress.has_moved = !posting_.empty();
  posting_.clear();
  const std::size_t before = requests_.size();
  std::erase_if(requests_, [&](Transport::Request request) { return transport.test(request); });
  if (requests_.size() < before) progress.has_moved = true;
  if (courier != nullptr) {
    progress.courier = courier->advance(transport);
    progress.is_awaited = courier->is_awaited();
  }
  if (progress.courier == Courier::Progress::moved) progress.has_moved = true;
  if (with_beats) heartbeat_.advance(transport);
  return progress;
}

}  // namespace plimsoll::dist
