#include "data/codec/webp_memory.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace plimsoll {
namespace {

thread_local WebpMemory* current = nullptr;

// As libwebp itself: no picture needs as much.
constexpr std::uint64_t kMost = std::uint64_t{1} << 34;

void* allocate(std::uint64_t count, std::size_t size) noexcept {
  if (count != 0 && size > kMost / count) return nullptr;
  const auto bytes = static_cast<std::size_t>(count * size);
  return current != nullptr ? current->take(bytes) : std::malloc(bytes);
}

}  // namespace

WebpMemory::WebpMemory(Room& room) : room_(room) { current = this; }
WebpMemory::~WebpMemory() { current = nullptr; }

void* WebpMemory::take(std::size_t bytes) noexcept {
  void* memory = room_.take(bytes);
  if (memory == nullptr) refused_ = bytes;
  return memory;
}

void WebpMemory::give_back(void* memory) noexcept {
  if (room_.owns(memory))
    room_.give_back(memory);
  else
    std::free(memory);
}

}  // namespace plimsoll

extern "C" {

// NOLINTBEGIN(readability-identifier-naming): libwebp's names.
void* WebPSafeMalloc(std::uint64_t count, std::size_t size) {
  return plimsoll::allocate(count, size);
}

void* WebPSafeCalloc(std::uint64_t count, std::size_t size) {
  void* memory = plimsoll::allocate(count, size);
  if (memory != nullptr) std::memset(memory, 0, static_cast<std::size_t>(count * size));
  return memory;
}

void WebPSafeFree(void* memory) {
  if (plimsoll::current != nullptr)
    plimsoll::current->give_back(memory);
  else
    std::free(memory);
}
// NOLINTEND(readability-identifier-naming)
}
