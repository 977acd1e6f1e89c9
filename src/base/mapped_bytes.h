// Buffers for whole files, in pages of their own.
#pragma once

#include <cstddef>
#include <vector>

namespace plimsoll {

// Maps what it is asked for and unmaps it at once when it goes. malloc keeps large blocks that were
// freed, in an arena per thread, and gives later ones from there: what the process holds then
// depends on what it read before.
template <class T>
struct MappedAllocator {
  using value_type = T;
  MappedAllocator() = default;
  template <class U>
  MappedAllocator(const MappedAllocator<U>&) {}  // NOLINT: the form that containers ask for

  T* allocate(std::size_t count);
  void deallocate(T* memory, std::size_t count) noexcept;
  bool operator==(const MappedAllocator&) const = default;
};

// std::bad_alloc if the system has not that much.
template <>
std::byte* MappedAllocator<std::byte>::allocate(std::size_t count);
template <>
void MappedAllocator<std::byte>::deallocate(std::byte* memory, std::size_t count) noexcept;

using MappedBytes = std::vector<std::byte, MappedAllocator<std::byte>>;

}  // namespace plimsoll
