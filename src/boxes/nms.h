// Non-maximum suppression: of boxes that tell of one thing, the surest.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>

#include "boxes/box.h"

namespace plimsoll::boxes {

// Six numbers in this order, so that a row of a tensor is one.
template <class T>
struct Candidate {
  Box<T> box;
  T score = 0;
  T group = 0;  // class or level: only candidates of one group suppress each other
};
static_assert(sizeof(Candidate<float>) == 24);

// Whether score a at index i comes before score b at index j: higher first, then by index. A score
// that is NaN comes last, so that the order is one for any numbers.
template <class T>
bool ranks_before(T a, std::int64_t i, T b, std::int64_t j) {
  if (a > b || (std::isnan(b) && !std::isnan(a))) return true;
  if (b > a || (std::isnan(a) && !std::isnan(b))) return false;
  return i < j;
}

// Writes the indices of the candidates that stay into `kept`, by ranks_before, `kept.size()` at
// most, and returns how many. Greedy: a candidate goes if its IoU with one of its group that stays
// is > `threshold`. `order` is scratch, one for each candidate. Does not allocate.
template <class T>
std::int64_t suppress(std::span<const Candidate<T>> candidates, double threshold,
                      std::span<std::int32_t> order, std::span<std::int32_t> kept);

}  // namespace plimsoll::boxes
