// libwebp has no place for an allocator of one's own; its three functions that allocate are
// replaced instead (the linker takes ours for the library's).
#pragma once

#include <cstddef>

#include "data/picture/room.h"

namespace plimsoll {

// While it lives, what libwebp allocates in this thread comes from `room`. Elsewhere, and in other
// threads, it is malloc's.
class WebpMemory {
 public:
  explicit WebpMemory(Room& room);
  WebpMemory(const WebpMemory&) = delete;
  WebpMemory& operator=(const WebpMemory&) = delete;
  ~WebpMemory();

  // What libwebp asked for when the room had too little; 0 if it never did.
  std::size_t refused() const { return refused_; }

  void* take(std::size_t bytes) noexcept;
  void give_back(void* memory) noexcept;

 private:
  Room& room_;
  std::size_t refused_ = 0;
};

}  // namespace plimsoll
