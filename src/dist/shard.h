// How ranks share out what all of them would otherwise hold.
#pragma once

#include <algorithm>
#include <cstdint>

namespace plimsoll::dist {

// Elements [begin, end) of a tensor as it is stored.
struct Shard {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  std::int64_t size() const { return end - begin; }
  bool operator==(const Shard&) const = default;
};

inline Shard common(const Shard& a, const Shard& b) {
  const std::int64_t begin = std::max(a.begin, b.begin);
  return {begin, std::max(begin, std::min(a.end, b.end))};
}

// What rank `rank` holds of a tensor of so many elements: all of them follow one another, their
// sizes differ by at most a cache line, and rank 0 has some of every tensor. Of a small one others
// may have none.
inline Shard shard_of(std::int64_t elements, int rank, int ranks) {
  constexpr std::int64_t kLine = 16;  // elements of f32 that no two ranks share
  const auto begin = [&](int of) {
    const std::int64_t even = (elements * of + ranks - 1) / ranks;
    return std::min(elements, (even + kLine - 1) / kLine * kLine);
  };
  return {begin(rank), rank + 1 == ranks ? elements : begin(rank + 1)};
}

}  // namespace plimsoll::dist
