#include "dist/exchange.h"

#include <algorithm>

#include "base/stopwatch.h"

namespace plimsoll::dist {
namespace {

constexpr int kNodes = kFirstCourierTag;
constexpr int kSums = kFirstCourierTag + 1;
constexpr int kShards = kFirstCourierTag + 2;
constexpr std::int64_t kMostElements = std::int64_t{1} << 20;  // of a piece
// What goes one way in one message keeps what comes the other way from being answered: a long one
// would have the link to itself.
constexpr std::int64_t kMostOfAMessage = std::int64_t{1} << 15;  // elements

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

std::span<std::byte> bytes_of(std::vector<float>& from, std::int64_t first, std::int64_t count) {
  return std::as_writable_bytes(std::span(from).subspan(at(first), at(count)));
}

void add(float* __restrict into, const float* __restrict from, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) into[i] += from[i];
}

std::int64_t messages_of(std::int64_t elements) {
  return (elements + kMostOfAMessage - 1) / kMostOfAMessage;
}

// Calls each(first, count) for the messages that elements [first, first + count) go in.
template <class Each>
void over_messages(std::int64_t first, std::int64_t count, Each each) {
  for (std::int64_t done = 0; done < count; done += kMostOfAMessage)
    each(first + done, std::min(kMostOfAMessage, count - done));
}

std::int64_t longest_slice(std::int64_t elements, int ranks) {
  return (elements + ranks - 1) / ranks;
}

// All that a rank has of what is gathered.
std::int64_t shard_elements(const Bucket& bucket, int rank, int ranks) {
  std::int64_t sum = 0;
  for (const SummedTensor& tensor : bucket.tensors)
    sum += shard_of(tensor.elements, rank, ranks).size();
  return sum;
}

}  // namespace

Holdings holdings_of(int parts, int ranks) {
  Holdings holdings{.first = {0}, .additions = {}};
  std::vector<PartRange> all;
  for (int rank = 0; rank < ranks; ++rank) {
    const std::vector<PartRange> nodes = nodes_of(range_of(rank, ranks, parts), parts);
    all.insert(all.end(), nodes.begin(), nodes.end());
    holdings.first.push_back(static_cast<int>(all.size()));
  }
  holdings.additions = additions_of(all, parts);
  return holdings;
}

Staging staging_of(std::span<const Holdings> holdings, int rank, int ranks, std::int64_t elements) {
  // An element for every rank at least, since each gets a lane of it where shards are gathered.
  Staging staging{.piece = std::max<std::int64_t>(ranks, std::min(elements, kMostElements))};
  for (const Holdings& one : holdings) {
    staging.outgoing = std::max(staging.outgoing, one.of(rank) * staging.piece);
    staging.incoming =
        std::max(staging.incoming, one.count() * longest_slice(staging.piece, ranks));
  }
  return staging;
}

TensorCourier::TensorCourier(int rank, int ranks, const Staging& staging)
    : rank_(rank),
      ranks_(ranks),
      most_(staging.piece),
      outgoing_(at(staging.outgoing)),
      incoming_(at(staging.incoming)),
      whole_(at(staging.piece)) {
  // A slice of every rank has a message that is not full.
  nodes_.reserve(at(messages_of(staging.incoming) + ranks_));
  rest_.reserve(at(messages_of(staging.outgoing) + 2 * messages_of(staging.piece * ranks_)) +
                3 * at(ranks_));
}

void TensorCourier::begin_step(const Holdings& holdings, std::span<const Bucket> buckets) noexcept {
  const std::scoped_lock lock(mutex_);
  holdings_ = &holdings;
  buckets_ = buckets;
  posted_ = 0;
  complete_ = 0;
}

void TensorCourier::post() noexcept {
  const std::scoped_lock lock(mutex_);
  ++posted_;
}

void TensorCourier::wait_for(std::size_t count) noexcept {
  const Stopwatch watch;
  std::unique_lock lock(mutex_);
  is_awaited_ = true;
  changed_.wait(lock, [&] { return complete_ >= count || failed_; });
  is_awaited_ = false;
  waited_seconds_ += watch.seconds();
}

void TensorCourier::end_step() noexcept { wait_for(buckets_.size()); }

bool TensorCourier::has_failed() const noexcept {
  const std::scoped_lock lock(mutex_);
  return failed_;
}

void TensorCourier::fail() noexcept {
  {
    const std::scoped_lock lock(mutex_);
    failed_ = true;
  }
  changed_.notify_all();
}

Courier::Progress TensorCourier::advance(Transport& transport) {
  if (stage_ == Stage::idle) {
    const std::scoped_lock lock(mutex_);
    if (complete_ >= posted_) return Progress::idle;
    held_ = holdings_;
    bucket_ = &buckets_[complete_];
    piece_ = {};
  }
  if (stage_ == Stage::idle) {
    bucket_->gathers ? begin_shards(transport) : begin_piece(transport);
    return Progress::moved;
  }
  if (stage_ == Stage::nodes) {
    if (!all_done(transport, nodes_)) return Progress::waiting;
    add_up();
    send_sums(transport);
    stage_ = Stage::sums;
    return Progress::moved;
  }
  if (!all_done(transport, rest_)) return Progress::waiting;
  bucket_->gathers ? place_shards() : scatter();
  if (piece_.end < whole_length()) {
    bucket_->gathers ? begin_shards(transport) : begin_piece(transport);
    return Progress::moved;
  }
  stage_ = Stage::idle;
  {
    const std::scoped_lock lock(mutex_);
    ++complete_;
  }
  changed_.notify_all();
  return Progress::moved;
}

TensorCourier::Range TensorCourier::slice_of(int rank) const {
  return {piece_.size() * rank / ranks_, piece_.size() * (rank + 1) / ranks_};
}

// Receives are posted first, so that nothing comes unexpected.
void TensorCourier::begin_piece(Transport& transport) {
  piece_ = {piece_.end, std::min(piece_.end + most_, bucket_->elements)};
  const std::int64_t own = slice_of(rank_).size();
  const int nodes = held_->of(rank_);
  for (int distance = 1; distance < ranks_; ++distance) {
    const int from = (rank_ + ranks_ - distance) % ranks_;
    const std::int64_t count = held_->of(from) * own;
    over_messages(held_->first[at(from)] * own, count, [&](auto first, auto some) {
      nodes_.push_back(transport.receive(from, kNodes, bytes_of(incoming_, first, some)));
    });
    const Range slice = slice_of(from);
    over_messages(slice.begin, slice.size(), [&](auto first, auto some) {
      rest_.push_back(transport.receive(from, kSums, bytes_of(whole_, first, some)));
    });
    bytes_received_ += (count + slice.size()) * std::int64_t{sizeof(float)};
  }
  for (int node = 0; node < nodes; ++node)
    gather(slice_of(rank_), node, incoming_.data() + (held_->first[at(rank_)] + node) * own);
  for (int distance = 1; distance < ranks_; ++distance) {
    const int to = (rank_ + distance) % ranks_;
    const Range slice = slice_of(to);
    if (nodes == 0 || slice.size() == 0) continue;
    const std::int64_t place = slice.begin * nodes;
    for (int node = 0; node < nodes; ++node)
      gather(slice, node, outgoing_.data() + place + node * slice.size());
    over_messages(place, slice.size() * nodes, [&](auto first, auto some) {
      rest_.push_back(transport.send(to, kNodes, bytes_of(outgoing_, first, some)));
    });
  }
  stage_ = Stage::nodes;
}

// `range` of the piece, of one of the rank's nodes.
void TensorCourier::gather(const Range& range, int node, float* to) const {
  const bool is_last = node + 1 == held_->of(rank_);
  std::int64_t begin = piece_.begin + range.begin;
  const std::int64_t end = piece_.begin + range.end;
  std::int64_t tensor_begin = 0;
  for (const SummedTensor& tensor : bucket_->tensors) {
    const std::int64_t tensor_end = tensor_begin + tensor.elements;
    if (begin < std::min(end, tensor_end)) {
      const float* from = is_last ? tensor.sum : tensor.slots[at(node)];
      const std::int64_t count = std::min(end, tensor_end) - begin;
      to = std::copy_n(from + (begin - tensor_begin), count, to);
      begin += count;
    }
    tensor_begin = tensor_end;
  }
}

void TensorCourier::scatter() const {
  std::int64_t begin = piece_.begin;
  std::int64_t tensor_begin = 0;
  for (const SummedTensor& tensor : bucket_->tensors) {
    const std::int64_t tensor_end = tensor_begin + tensor.elements;
    if (begin < std::min(piece_.end, tensor_end)) {
      const std::int64_t count = std::min(piece_.end, tensor_end) - begin;
      std::copy_n(whole_.data() + (begin - piece_.begin), count,
                  tensor.sum + (begin - tensor_begin));
      begin += count;
    }
    tensor_begin = tensor_end;
  }
}

void TensorCourier::add_up() {
  const Range own = slice_of(rank_);
  float* nodes = incoming_.data();
  for (const Addition& addition : held_->additions)
    add(nodes + addition.into * own.size(), nodes + addition.from * own.size(), own.size());
  std::copy_n(nodes, own.size(), whole_.data() + own.begin);
}

void TensorCourier::send_sums(Transport& transport) {
  const Range own = slice_of(rank_);
  for (int distance = 1; distance < ranks_; ++distance)
    over_messages(own.begin, own.size(), [&](auto first, auto some) {
      rest_.push_back(
          transport.send((rank_ + distance) % ranks_, kSums, bytes_of(whole_, first, some)));
    });
}

std::int64_t TensorCourier::whole_length() const {
  if (!bucket_->gathers) return bucket_->elements;
  std::int64_t longest = 0;
  for (int rank = 0; rank < ranks_; ++rank)
    longest = std::max(longest, shard_elements(*bucket_, rank, ranks_));
  return longest;
}

TensorCourier::Range TensorCourier::lane_of(int rank) const {
  const std::int64_t elements = shard_elements(*bucket_, rank, ranks_);
  return {std::min(piece_.begin, elements), std::min(piece_.end, elements)};
}

// visit(elements in the tensor, how many)
template <class Visit>
void TensorCourier::over_lane(int rank, Visit visit) const {
  const Range lane = lane_of(rank);
  std::int64_t before = 0;
  for (const SummedTensor& tensor : bucket_->tensors) {
    const Shard shard = shard_of(tensor.elements, rank, ranks_);
    const std::int64_t begin = std::max(lane.begin, before);
    const std::int64_t end = std::min(lane.end, before + shard.size());
    if (begin < end) visit(tensor.sum + shard.begin + (begin - before), end - begin);
    before += shard.size();
  }
}

void TensorCourier::begin_shards(Transport& transport) {
  const std::int64_t lane = most_ / ranks_;
  piece_ = {piece_.end, piece_.end + lane};
  for (int distance = 1; distance < ranks_; ++distance) {
    const int from = (rank_ + ranks_ - distance) % ranks_;
    const std::int64_t count = lane_of(from).size();
    if (count == 0) continue;
    rest_.push_back(transport.receive(from, kShards, bytes_of(whole_, from * lane, count)));
    bytes_received_ += count * std::int64_t{sizeof(float)};
  }
  float* to = whole_.data() + rank_ * lane;
  over_lane(rank_,
            [&](const float* from, std::int64_t count) { to = std::copy_n(from, count, to); });
  const std::int64_t own = lane_of(rank_).size();
  for (int distance = 1; distance < ranks_ && own > 0; ++distance)
    rest_.push_back(
        transport.send((rank_ + distance) % ranks_, kShards, bytes_of(whole_, rank_ * lane, own)));
  stage_ = Stage::shards;
}

void TensorCourier::place_shards() {
  const std::int64_t lane = most_ / ranks_;
  for (int rank = 0; rank < ranks_; ++rank) {
    if (rank == rank_) continue;
    const float* from = whole_.data() + rank * lane;
    over_lane(rank, [&](float* to, std::int64_t count) {
      std::copy_n(from, count, to);
      from += count;
    });
  }
}

bool TensorCourier::all_done(Transport& transport, std::vector<Transport::Request>& requests) {
  // The last first, and none behind one that is not done: a test makes system calls of its own.
  while (!requests.empty() && transport.test(requests.back())) requests.pop_back();
  return requests.empty();
}

}  // namespace plimsoll::dist
