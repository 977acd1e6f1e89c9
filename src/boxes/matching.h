// Which box an anchor is to find. Two passes over the anchors instead of a table of anchors x
// boxes: the first learns how near any anchor comes to each box, the second settles every anchor.
#pragma once

#include <cstdint>
#include <span>

#include "boxes/anchors.h"
#include "boxes/box.h"

namespace plimsoll::boxes {

// What stands where an anchor has no box to find.
inline constexpr std::int32_t kNegative = -1;
inline constexpr std::int32_t kIgnored = -2;

// An anchor takes the box with the largest IoU, the first of equals. It is positive if that is
// >= `positive`, negative if it is < `negative`, else ignored; compared in the type of the boxes.
// With `low_quality`, an anchor whose IoU with any box equals that box's best over all anchors of
// all levels, which must be > 0, is positive too, and finds its own best box (perhaps another one).
struct MatchRule {
  double positive = 0.5;
  double negative = 0.4;
  bool low_quality = true;
};

// Pass 1, over rows [first_row, last_row) of a level: raises best[g] to the largest IoU of box g
// with any of their anchors. `best` starts at 0. A maximum is the same in any order, so threads may
// split rows and join their results by the larger.
template <class T>
void raise_best(const AnchorLevel& level, std::int64_t first_row, std::int64_t last_row,
                std::span<const Box<T>> boxes, std::span<T> best);

// Memory that pass 2 works in, for one thread: one row of one shape.
template <class T>
constexpr std::int64_t match_scratch_bytes(std::int64_t columns) {
  return columns * static_cast<std::int64_t>(sizeof(T) + 1);
}

// Pass 2, over rows [first_row, last_row): codes[(a * rows + row) * columns + column] becomes the
// index of the box to find, kNegative or kIgnored. Returns the number of positives. `scratch` holds
// match_scratch_bytes<T>(columns) bytes, aligned for T.
template <class T>
std::int64_t match_rows(const AnchorLevel& level, std::int64_t first_row, std::int64_t last_row,
                        std::span<const Box<T>> boxes, std::span<const T> best,
                        const MatchRule& rule, std::span<std::int32_t> codes, std::byte* scratch);

// The same rule for one box among others, without low-quality matches.
template <class T>
std::int32_t match_one(const Box<T>& candidate, std::span<const Box<T>> boxes,
                       const MatchRule& rule);

}  // namespace plimsoll::boxes
