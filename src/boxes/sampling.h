// A uniform draw of n among many, as a function of a key: the n candidates with the smallest random
// numbers. The same however a batch is split, on recomputation and on resume.
#pragma once

#include <cstdint>
#include <span>

#include "base/random.h"

namespace plimsoll::boxes {

// A candidate's place in the draw: by number, then by index.
struct Lot {
  std::uint64_t number = 0;
  std::int64_t index = 0;
  auto operator<=>(const Lot&) const = default;
};

// The lot of candidate `index` of the run's sample `sample`: the first two words of Philox, the
// sample in the low half of the counter and the index in the high one.
inline Lot lot_of(std::uint64_t key, std::int64_t sample, std::int64_t index) {
  const PhiloxBlock draw =
      philox(key, static_cast<std::uint64_t>(sample), static_cast<std::uint64_t>(index));
  return {draw[0] | std::uint64_t{draw[1]} << 32, index};
}

// Keeps the smallest lots offered, as many as `room` holds at most. Whose memory `room` is stays
// with the caller. The order of offers does not matter.
class SmallestLots {
 public:
  explicit SmallestLots(std::span<Lot> room) : room_(room) {}

  void offer(const Lot& lot);
  std::int64_t count() const { return count_; }
  // Whether a lot that was offered is among the `most` smallest that are kept. Call after settle().
  bool has(const Lot& lot) const { return count_ > 0 && lot <= last_; }
  // Throws all but the `most` smallest away.
  void settle(std::int64_t most);

 private:
  std::span<Lot> room_;  // [0, count_) is a heap, the largest first
  std::int64_t count_ = 0;
  Lot last_;
};

}  // namespace plimsoll::boxes
