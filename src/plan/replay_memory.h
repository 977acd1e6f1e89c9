// What the checker knows about bytes: which content lies where. Shares no code with the planner.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "base/random.h"

namespace plimsoll::replay {

// Thrown inside the checker only: why it refuses a plan.
struct Fault {
  std::string what;
};

// Content is named by how it was made; two runs of a node on equal contents make equal content.
using Content = std::uint64_t;
inline constexpr Content kUndefined = 0;

inline Content mix(Content a, Content b) {
  return splitmix64(a ^ (b * 0x9E3779B97F4A7C15ULL + 0x7F4A7C15));
}

// A range of bytes.
struct Range {
  std::int64_t begin = 0;
  std::int64_t bytes = 0;
  std::int64_t end() const { return begin + bytes; }
  bool overlaps(const Range& other) const { return begin < other.end() && other.begin < end(); }
};

inline bool overlap(const std::vector<Range>& a, const std::vector<Range>& b) {
  return std::any_of(a.begin(), a.end(), [&](const Range& x) {
    return std::any_of(b.begin(), b.end(), [&](const Range& y) { return x.overlaps(y); });
  });
}

// Which byte of which content lies where.
class Memory {
 public:
  explicit Memory(std::int64_t bytes) : bytes_(bytes) {
    pieces_[0] = {.end = bytes, .content = kUndefined, .shift = 0};
  }

  void check_inside(const Range& range, const char* what) const {
    if (range.begin < 0 || range.bytes < 0 || range.bytes > bytes_ ||
        range.begin > bytes_ - range.bytes)
      throw Fault{fmt::format("{} at {} of {} bytes is outside the {} that there are", what,
                              range.begin, range.bytes, bytes_)};
  }
  // Bytes [from, from + range.bytes) of `content` now lie in `range`.
  void write(const Range& range, Content content, std::int64_t from) {
    if (range.bytes == 0) return;
    split(range.begin);
    split(range.end());
    const auto first = pieces_.find(range.begin);
    pieces_.erase(first, pieces_.lower_bound(range.end()));
    pieces_[range.begin] = {.end = range.end(), .content = content, .shift = range.begin - from};
  }
  bool holds(const Range& range, Content content, std::int64_t from) const {
    if (range.bytes == 0) return true;
    auto piece = std::prev(pieces_.upper_bound(range.begin));
    for (; piece != pieces_.end() && piece->first < range.end(); ++piece)
      if (piece->second.content != content || piece->second.shift != range.begin - from)
        return false;
    return true;
  }

 private:
  struct Piece {
    std::int64_t end;
    Content content;
    std::int64_t shift;
  };
  void split(std::int64_t at) {
    if (at >= bytes_) return;
    auto piece = std::prev(pieces_.upper_bound(at));
    if (piece->first == at) return;
    const Piece tail = piece->second;
    piece->second.end = at;
    pieces_[at] = tail;
  }
  std::map<std::int64_t, Piece> pieces_;
  std::int64_t bytes_;
};

}  // namespace plimsoll::replay
