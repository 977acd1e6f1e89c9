// The program's operator new. Inside a step it never asks the system: oneDNN makes a few small
// objects each time a primitive runs, and these get their bytes from a fixed slab. Everywhere else
// it is malloc. This lives in the program, not in the library: a guest does not change its host's
// allocator.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <thread>

#include "base/step_region.h"

namespace {

// Sized for a nest of calls, not for data: objects live for one primitive's run.
constexpr std::size_t kSlabBytes = 256 * 1024;
constexpr std::size_t kClassBytes = 64;
constexpr std::size_t kClasses = 64;  // up to 4 KiB; larger requests go to malloc

struct FreeBlock {
  FreeBlock* next;
};

// A process has one thread that runs steps, or one for each rank that it is: a lock that nearly
// always is free.
class SlabLock {
 public:
  explicit SlabLock(std::atomic_flag& flag) : flag_(flag) {
    while (flag_.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
  }
  ~SlabLock() { flag_.clear(std::memory_order_release); }
  SlabLock(const SlabLock&) = delete;
  SlabLock& operator=(const SlabLock&) = delete;

 private:
  std::atomic_flag& flag_;
};

class StepSlab {
 public:
  void* take(std::size_t size) {
    const SlabLock lock(is_locked_);
    const std::size_t index = (size + kClassBytes - 1) / kClassBytes;
    if (index == 0 || index > kClasses) return nullptr;
    FreeBlock*& head = free_[index - 1];
    if (head != nullptr) {
      FreeBlock* block = head;
      head = block->next;
      return block;
    }
    const std::size_t bytes = index * kClassBytes + kClassBytes;  // the first line keeps the class
    if (used_ + bytes > kSlabBytes) return nullptr;
    std::byte* base = slab_.data() + used_;
    used_ += bytes;
    *reinterpret_cast<std::size_t*>(base) = index;
    return base + kClassBytes;
  }
  bool owns(const void* memory) const {
    const auto* at = static_cast<const std::byte*>(memory);
    return at >= slab_.data() && at < slab_.data() + kSlabBytes;
  }
  void give_back(void* memory) {
    const SlabLock lock(is_locked_);
    std::byte* base = static_cast<std::byte*>(memory) - kClassBytes;
    FreeBlock*& head = free_[*reinterpret_cast<std::size_t*>(base) - 1];
    head = ::new (memory) FreeBlock{head};
  }

 private:
  alignas(kClassBytes) std::array<std::byte, kSlabBytes> slab_{};
  std::atomic_flag is_locked_;
  std::size_t used_ = 0;
  std::array<FreeBlock*, kClasses> free_{};
};

constinit StepSlab slab;

[[maybe_unused]] void* allocate(std::size_t size, std::size_t alignment) {
  if (plimsoll::StepRegion::in_step() && alignment <= kClassBytes)
    if (void* memory = slab.take(size > 0 ? size : 1)) return memory;
  const std::size_t rounded = (size + alignment - 1) / alignment * alignment;
  void* memory = alignment <= alignof(std::max_align_t) ? std::malloc(size > 0 ? size : 1)
                                                        : std::aligned_alloc(alignment, rounded);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

[[maybe_unused]] void release(void* memory) noexcept {
  if (slab.owns(memory))
    slab.give_back(memory);
  else
    std::free(memory);
}

}  // namespace

// Sanitizers watch operator new themselves.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

// The array and nothrow forms of the standard library end up here.
void* operator new(std::size_t size) { return allocate(size, 1); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { release(memory); }
void operator delete(void* memory, std::size_t) noexcept { release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { release(memory); }

#endif
