// Memory for one picture after the other: mapped as a whole before the first of them, drawn from in
// order, and empty again for the next. Decoders, their libraries and resizing have no other.
#pragma once

#include <cstddef>
#include <span>

#include "base/bytes.h"

namespace plimsoll {

// Not thread-safe: one per worker.
class Room {
 public:
  Room() = default;
  // Maps and touches `size` bytes (whole pages). std::bad_alloc if the system has not that much.
  explicit Room(Bytes size);
  Room(Room&& other) noexcept;
  Room& operator=(Room&& other) noexcept;
  ~Room();

  Bytes size() const { return {static_cast<std::int64_t>(size_)}; }
  Bytes left() const { return {static_cast<std::int64_t>(size_ - used_)}; }
  // The greatest part that was ever in use.
  Bytes most() const { return {static_cast<std::int64_t>(most_)}; }

  // `bytes` of memory at a multiple of kAlignment, good until what was there before is empty again;
  // what it holds is unspecified. Null where not so much is left: C libraries that ask cannot
  // stand an exception.
  void* take(std::size_t bytes) noexcept;
  // The same for `count` elements. std::bad_alloc where not so much is left: a bug of whoever
  // said what a picture needs, or a file that is other than it was.
  template <class T>
  std::span<T> take_array(std::size_t count) {
    return {static_cast<T*>(take_or_throw(count, sizeof(T))), count};
  }
  // Gives back the last that was taken, if this is it; else it stays until the room is emptied.
  void give_back(void* memory) noexcept;
  bool owns(const void* memory) const noexcept;

  std::size_t used() const { return used_; }
  // Empties it down to an earlier used().
  void rewind(std::size_t used) noexcept;

  // What taking `bytes` costs.
  static constexpr std::size_t kAlignment = 64;
  static constexpr std::int64_t rounded(std::int64_t bytes) {
    constexpr auto kUnit = static_cast<std::int64_t>(kAlignment);
    return (bytes + kUnit - 1) / kUnit * kUnit;
  }

 private:
  void* take_or_throw(std::size_t count, std::size_t size);

  std::byte* base_ = nullptr;
  std::size_t size_ = 0;
  std::size_t used_ = 0;
  std::size_t most_ = 0;
  std::size_t last_ = 0;  // where the last that was taken begins
};

}  // namespace plimsoll
