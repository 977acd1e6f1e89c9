// What the ranks of a run share out, each holding its shard: the optimizer's tensors and averages.
// Where they share nothing out, all of this does nothing.
#pragma once

#include <functional>
#include <vector>

#include "dist/group.h"
#include "step/weights.h"

namespace plimsoll {

// Whole tensors lie, one at a time, in the room that steps work in. Session and step outlive it.
class Shards {
 public:
  // `group` may be null where nothing is shared out.
  Shards(dist::Group* group, const Session& session, const StepGraph& step);

  // Rank 0 does `work`, in which tensors may be fetched and stored; the others hand out and take
  // in what it asks them for until it is done. Throws what `work` throws, on rank 0 alone.
  void lead(const std::function<void()>& work) const;
  // Inside of lead(), by rank 0. Brings a tensor together, where its view is.
  void fetch(const NamedTensor& tensor) const;
  // Before a tensor is put there to be stored: padding of its layout is zero.
  void clear(const NamedTensor& tensor) const;
  // Hands out a tensor that lies there whole.
  void store(const NamedTensor& tensor) const;

  // By all ranks: each weight that is trained becomes what every rank has in its shard of it.
  void gather_weights() const;

  const Session& session() const { return session_; }
  const StepGraph& step() const { return step_; }

 private:
  enum class Verb : std::int32_t { end, fetch, store };
  struct Order {
    Verb verb = Verb::end;
    std::int32_t tensor = 0;  // index into tensors_
  };

  bool is_shared() const { return step_.shards > 1; }
  Order tell(Order order) const;
  std::int32_t index_of(const NamedTensor& tensor) const;
  void answer() const;
  // A tensor's elements by the ranks that have them: at rank 0 where it lies whole, elsewhere this
  // rank's alone.
  std::vector<std::span<std::byte>> slices_of(const NamedTensor& tensor) const;
  // Those that this rank has of it.
  std::span<std::byte> held_of(const NamedTensor& tensor) const;

  dist::Group* group_;
  const Session& session_;
  const StepGraph& step_;
  std::vector<NamedTensor> tensors_;  // all that are shared out, in the same order on all ranks
};

}  // namespace plimsoll
