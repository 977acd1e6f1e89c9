#include "base/mapped_bytes.h"

#include <sys/mman.h>

#include <new>

namespace plimsoll {

template <>
std::byte* MappedAllocator<std::byte>::allocate(std::size_t count) {
  void* memory = ::mmap(nullptr, count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return static_cast<std::byte*>(memory);
}

template <>
void MappedAllocator<std::byte>::deallocate(std::byte* memory, std::size_t count) noexcept {
  ::munmap(memory, count);
}

}  // namespace plimsoll
