// Static placement: blocks with lifetimes into one range of addresses.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace plimsoll {

// A piece of memory that is needed from step `first` to step `last`, both included.
struct Block {
  int first = 0;
  int last = 0;
  std::int64_t bytes = 0;
};

struct Placement {
  std::vector<std::int64_t> offset;  // one per block
  std::int64_t top = 0;              // the first byte behind all of them
};

// The largest sum of bytes needed at one step: no placement can be smaller.
std::int64_t live_bound(std::span<const Block> blocks);

// No two blocks that are needed at one step overlap. The best of a fixed list of greedy orders and,
// where that is over 1 % above the bound, of place_under() with a few ceilings: the same blocks
// always get the same places. Sizes should be multiples of 64, and so are offsets then.
Placement place(std::span<const Block> blocks);

}  // namespace plimsoll
