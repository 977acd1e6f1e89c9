#include "step/shards.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "dist/rank_place.h"
#include "dist/shard.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kElement = sizeof(float);

std::span<std::byte> bytes_at(std::byte* data, std::int64_t first, std::int64_t count) {
  return {data + first * kElement, static_cast<std::size_t>(count * kElement)};
}

// The elements of a tensor that `rank` has, counted in the weight that it is part of.
dist::Shard shard_in(const NamedTensor& tensor, int rank, int ranks) {
  const std::int64_t first = tensor.shared->first;
  return dist::common(dist::shard_of(tensor.shared->whole, rank, ranks),
                      {first, first + tensor.view.spec.stored_elements()});
}

}  // namespace

Shards::Shards(dist::Group* group, const Session& session, const StepGraph& step)
    : group_(group), session_(session), step_(step) {
  if (!is_shared()) return;
  expect(group_ != nullptr, "ranks that share something out");
  for (auto* more : {&slot_tensors, &average_tensors})
    for (NamedTensor& tensor : more(session, step)) tensors_.push_back(std::move(tensor));
}

void Shards::lead(const std::function<void()>& work) const {
  if (!is_shared()) {
    if (dist::leads(group_)) work();
    return;
  }
  if (group_->rank() != 0) return answer();
  try {
    work();
  } catch (...) {
    try {
      tell({});
    } catch (const Error&) {
      // The others are gone; why is what `work` has thrown.
    }
    throw;
  }
  tell({});
}

Shards::Order Shards::tell(Order order) const {
  group_->broadcast(0, std::as_writable_bytes(std::span(&order, 1)));
  return order;
}

std::int32_t Shards::index_of(const NamedTensor& tensor) const {
  const auto found = std::ranges::find(tensors_, tensor.name, &NamedTensor::name);
  expect(found != tensors_.end(), "a tensor that is shared out");
  return static_cast<std::int32_t>(found - tensors_.begin());
}

void Shards::answer() const {
  for (Order order = tell({}); order.verb != Verb::end; order = tell({})) {
    expect(order.tensor >= 0 && order.tensor < std::ssize(tensors_), "a tensor of this run");
    const NamedTensor& tensor = tensors_[static_cast<std::size_t>(order.tensor)];
    if (order.verb == Verb::fetch)
      group_->gather_slices(0, slices_of(tensor));
    else
      group_->scatter_slices(0, slices_of(tensor));
  }
}

std::span<std::byte> Shards::held_of(const NamedTensor& tensor) const {
  const dist::Shard own = shard_in(tensor, step_.rank, step_.shards);
  if (own.size() == 0) return {};
  const dist::Shard held = dist::shard_of(tensor.shared->whole, step_.rank, step_.shards);
  return bytes_at(session_.resident(tensor.shared->resident).data, own.begin - held.begin,
                  own.size());
}

std::vector<std::span<std::byte>> Shards::slices_of(const NamedTensor& tensor) const {
  std::vector<std::span<std::byte>> slices(static_cast<std::size_t>(step_.shards));
  if (step_.rank != 0) {
    slices[static_cast<std::size_t>(step_.rank)] = held_of(tensor);
    return slices;
  }
  for (int rank = 0; rank < step_.shards; ++rank) {
    const dist::Shard shard = shard_in(tensor, rank, step_.shards);
    slices[static_cast<std::size_t>(rank)] =
        bytes_at(tensor.view.data, shard.begin - tensor.shared->first, shard.size());
  }
  return slices;
}

void Shards::fetch(const NamedTensor& tensor) const {
  if (!tensor.shared) return;
  tell({Verb::fetch, index_of(tensor)});
  const std::vector<std::span<std::byte>> slices = slices_of(tensor);
  std::ranges::copy(held_of(tensor), slices[0].begin());
  group_->gather_slices(0, slices);
}

void Shards::clear(const NamedTensor& tensor) const {
  if (tensor.shared)
    std::memset(tensor.view.data, 0, static_cast<std::size_t>(tensor.view.spec.bytes()));
}

void Shards::store(const NamedTensor& tensor) const {
  if (!tensor.shared) return;
  tell({Verb::store, index_of(tensor)});
  const std::vector<std::span<std::byte>> slices = slices_of(tensor);
  std::ranges::copy(slices[0], held_of(tensor).begin());
  group_->scatter_slices(0, slices);
}

void Shards::gather_weights() const {
  if (!is_shared()) return;
  std::vector<std::span<std::byte>> slices(static_cast<std::size_t>(step_.shards));
  for (const std::string& name : step_.trained) {
    const TensorView weight = session_.resident(name);
    for (int rank = 0; rank < step_.shards; ++rank) {
      const dist::Shard shard = dist::shard_of(weight.spec.stored_elements(), rank, step_.shards);
      slices[static_cast<std::size_t>(rank)] = bytes_at(weight.data, shard.begin, shard.size());
    }
    group_->all_gather_slices(slices);
  }
}

}  // namespace plimsoll
