#include "run/rank_paces.h"

#include <algorithm>

namespace plimsoll {

void RankPaces::note(std::span<const dist::Word> words) {
  paces_.resize(words.size());
  for (std::size_t rank = 0; rank < words.size(); ++rank) {
    paces_[rank].worked += words[rank].seconds - words[rank].waited_for_others;
    paces_[rank].waited_for_data += words[rank].waited_for_data;
  }
  ++counted_;
  const std::scoped_lock lock(mutex_);
  last_.assign(words.begin(), words.end());
}

std::vector<Straggler> RankPaces::find_stragglers() {
  if (counted_ < kSteps) return {};
  std::vector<double> seconds;
  for (const Pace& pace : paces_) seconds.push_back(pace.seconds());
  // Of an even number the lower one: of two ranks the slower is the straggler.
  const auto middle = seconds.begin() + (std::ssize(seconds) - 1) / 2;
  std::ranges::nth_element(seconds, middle);
  std::vector<Straggler> found;
  const auto steps = static_cast<double>(counted_);
  for (std::size_t rank = 0; rank < paces_.size(); ++rank) {
    Pace& pace = paces_[rank];
    const bool is_slow = pace.seconds() > kSlower * *middle;
    if (is_slow && !pace.is_told)
      found.push_back({.rank = static_cast<int>(rank),
                       .slower = pace.seconds() / *middle - 1,
                       .step_seconds = pace.seconds() / steps,
                       .waited_for_data = pace.waited_for_data / steps});
    pace = {.is_told = pace.is_told || is_slow};
  }
  counted_ = 0;
  return found;
}

dist::Word RankPaces::last_of(int rank) const {
  const std::scoped_lock lock(mutex_);
  const auto place = static_cast<std::size_t>(rank);
  return place < last_.size() ? last_[place] : dist::Word{};
}

}  // namespace plimsoll
