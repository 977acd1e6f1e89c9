#include "tests/support/allocation_counter.h"

#include <malloc.h>
#include <atomic>
#include <cerrno>
#include <cstddef>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

namespace plimsoll {
std::int64_t allocations_so_far() { return 0; }
bool allocations_are_counted() { return false; }
std::int64_t peak_of_allocations(const std::function<void()>& action) {
  action();
  return 0;
}
}  // namespace plimsoll

#else

namespace {
std::atomic<std::int64_t> allocations{0};
std::atomic<std::int64_t> in_use{0};
std::atomic<std::int64_t> peak{0};

void count() { allocations.fetch_add(1, std::memory_order_relaxed); }

void* taken(void* memory) {
  if (memory == nullptr) return memory;
  const auto size = static_cast<std::int64_t>(malloc_usable_size(memory));
  const std::int64_t now = in_use.fetch_add(size, std::memory_order_relaxed) + size;
  if (now > peak.load(std::memory_order_relaxed)) peak.store(now, std::memory_order_relaxed);
  return memory;
}
void given_back(void* memory) {
  if (memory == nullptr) return;
  in_use.fetch_sub(static_cast<std::int64_t>(malloc_usable_size(memory)),
                   std::memory_order_relaxed);
}
}  // namespace

namespace plimsoll {
std::int64_t allocations_so_far() { return allocations.load(); }
bool allocations_are_counted() { return true; }
std::int64_t peak_of_allocations(const std::function<void()>& action) {
  const std::int64_t before = in_use.load();
  peak.store(before);
  action();
  return peak.load() - before;
}
}  // namespace plimsoll

// glibc lets a program define these; its own are still there under other names.
extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* memory, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);
void __libc_free(void* memory);

void* malloc(std::size_t size) {
  count();
  return taken(__libc_malloc(size));
}
void* calloc(std::size_t items, std::size_t size) {
  count();
  return taken(__libc_calloc(items, size));
}
void* realloc(void* memory, std::size_t size) {
  count();
  given_back(memory);
  return taken(__libc_realloc(memory, size));
}
void* memalign(std::size_t alignment, std::size_t size) {
  count();
  return taken(__libc_memalign(alignment, size));
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  count();
  return taken(__libc_memalign(alignment, size));
}
int posix_memalign(void** memory, std::size_t alignment, std::size_t size) {
  count();
  *memory = taken(__libc_memalign(alignment, size));
  return *memory == nullptr ? ENOMEM : 0;
}
void free(void* memory) {
  given_back(memory);
  __libc_free(memory);
}
}

#endif
