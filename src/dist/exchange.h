// Tensors that the ranks of a run make whole together: sums, of which each holds nodes of the tree,
// and weights, of which each has updated its shard.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "dist/group.h"
#include "dist/shard.h"
#include "dist/tree.h"

namespace plimsoll::dist {

// Which nodes the ranks hold when a batch of so many parts is computed, and how they add up.
struct Holdings {
  std::vector<int> first;  // per rank: the first of its nodes among those of all; then their number
  std::vector<Addition> additions;

  int of(int rank) const {
    return first[static_cast<std::size_t>(rank) + 1] - first[static_cast<std::size_t>(rank)];
  }
  int count() const { return first.back(); }
};
Holdings holdings_of(int parts, int ranks);

// A tensor of f32 that is summed. The rank's nodes lie in the first of `slots`, the last in `sum`,
// where the whole goes. One that is gathered lies in `sum` and has no slots.
struct SummedTensor {
  std::int64_t elements = 0;
  float* sum = nullptr;
  std::vector<float*> slots;
};
// Tensors that are exchanged together, and how many elements they are.
struct Bucket {
  std::vector<SummedTensor> tensors;
  std::int64_t elements = 0;
  bool gathers = false;  // of every tensor each rank has its shard, and gets those of the others
};

// Memory that messages are put together in.
struct Staging {
  std::int64_t piece = 0;     // elements that are exchanged at once
  std::int64_t outgoing = 0;  // elements; of the rank's nodes
  std::int64_t incoming = 0;  // of all nodes, in the slice that the rank adds up
  std::int64_t bytes() const { return (outgoing + incoming + piece) * std::int64_t{sizeof(float)}; }
};
// For buckets of at most `elements` and batches of such holdings.
Staging staging_of(std::span<const Holdings> holdings, int rank, int ranks, std::int64_t elements);

// Makes buckets whole, one after the other. A sum goes in pieces, a piece in as many slices as
// there are ranks: each adds up the nodes of its slice, in the tree's order, and tells the others.
// What is gathered goes in pieces, too: each rank tells the others the next of its shards.
// Allocates nothing after it was made.
class TensorCourier final : public Courier {
 public:
  // Of all ranks the staging's pieces have the same length.
  TensorCourier(int rank, int ranks, const Staging& staging);

  // By the group's owner. Both stay until end_step(); all ranks have the same buckets.
  void begin_step(const Holdings& holdings, std::span<const Bucket> buckets) noexcept;
  // The next bucket holds what this rank gives. The group is to be woken.
  void post() noexcept;
  // Returns when the first `count` buckets hold the whole, or never will.
  void wait_for(std::size_t count) noexcept;
  void end_step() noexcept;
  bool has_failed() const noexcept;

  std::int64_t bytes_received() const noexcept { return bytes_received_; }
  double waited_seconds() const noexcept { return waited_seconds_; }

  Progress advance(Transport& transport) override;
  bool is_awaited() const noexcept override { return is_awaited_; }
  void fail() noexcept override;

 private:
  struct Range {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::int64_t size() const { return end - begin; }
  };
  enum class Stage : std::uint8_t { idle, nodes, sums, shards };

  Range slice_of(int rank) const;  // of the piece
  void begin_piece(Transport& transport);
  void gather(const Range& range, int node, float* to) const;
  void scatter() const;
  void add_up();
  void send_sums(Transport& transport);
  // Of what is gathered: the elements of a rank's shards in the piece, and where they lie.
  Range lane_of(int rank) const;
  template <class Visit>
  void over_lane(int rank, Visit visit) const;
  void begin_shards(Transport& transport);
  void place_shards();
  std::int64_t whole_length() const;
  bool all_done(Transport& transport, std::vector<Transport::Request>& requests);

  const int rank_;
  const int ranks_;
  const std::int64_t most_;  // elements of a piece

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // These are guarded by mutex_.
  const Holdings* holdings_ = nullptr;
  std::span<const Bucket> buckets_;
  std::size_t posted_ = 0;
  std::size_t complete_ = 0;
  bool failed_ = false;

  double waited_seconds_ = 0;  // the owner's
  std::atomic<bool> is_awaited_ = false;
  std::atomic<std::int64_t> bytes_received_ = 0;
  // The thread's own.
  Stage stage_ = Stage::idle;
  const Holdings* held_ = nullptr;  // of the bucket under way
  const Bucket* bucket_ = nullptr;
  Range piece_;  // of the bucket, or of every rank's shards in it
  std::vector<Transport::Request> nodes_;
  std::vector<Transport::Request> rest_;  // sums, and all that is sent
  std::vector<float> outgoing_;
  std::vector<float> incoming_;
  std::vector<float> whole_;
};

}  // namespace plimsoll::dist
