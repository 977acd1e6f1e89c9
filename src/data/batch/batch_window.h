// The part of every batch that is made here, where others make the rest.
#pragma once

#include <cstdint>
#include <functional>

namespace plimsoll {

// Samples [first, first + count) of a batch; there may be none.
struct BatchWindow {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

// Of the batch of `count` samples that begins at `position` of an epoch. Empty: all of it.
using WindowOfBatch = std::function<BatchWindow(std::int64_t position, std::int64_t count)>;

}  // namespace plimsoll
