// The one piece of memory a run computes in.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/view.h"

namespace plimsoll {

// Anonymous memory, mapped and touched when constructed, so that no later step can fault for want
// of a page. Zeroed. Throws BudgetError when the machine refuses it. Owns its bytes; not copyable.
class Arena {
 public:
  explicit Arena(std::int64_t bytes);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  std::byte* at(std::int64_t offset) const { return base_ + offset; }
  std::int64_t bytes() const { return bytes_; }

 private:
  std::byte* base_ = nullptr;
  std::int64_t bytes_ = 0;
};

}  // namespace plimsoll
