#include "boxes/sampling.h"

#include <algorithm>

namespace plimsoll::boxes {

void SmallestLots::offer(const Lot& lot) {
  const auto capacity = static_cast<std::int64_t>(room_.size());
  if (count_ == capacity && (capacity == 0 || lot >= room_[0])) return;
  if (count_ == capacity) std::pop_heap(room_.begin(), room_.begin() + count_--);
  room_[static_cast<std::size_t>(count_++)] = lot;
  std::push_heap(room_.begin(), room_.begin() + count_);
}

void SmallestLots::settle(std::int64_t most) {
  while (count_ > most) std::pop_heap(room_.begin(), room_.begin() + count_--);
  if (count_ > 0) last_ = room_[0];
}

}  // namespace plimsoll::boxes
