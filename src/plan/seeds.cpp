#include "plan/seeds.h"

#include <algorithm>

namespace plimsoll {
namespace {

// Where forward could be cut: behind each of its nodes, and what would have to be kept there.
struct Cut {
  std::int64_t crossing = 0;  // bytes of values made before and needed behind
  std::int64_t made = 0;      // bytes of all values with a choice made up to here
};

std::vector<Cut> cuts(const Problem& problem) {
  const std::size_t forward = problem.backward_begin();
  std::vector<std::int64_t> change(forward + 1, 0);
  std::vector<std::int64_t> made(forward + 1, 0);
  for (std::int32_t choice : problem.choices()) {
    const Problem::Root& root = problem.roots()[static_cast<std::size_t>(choice)];
    const auto first = static_cast<std::size_t>(root.makers.front());
    const auto last = static_cast<std::size_t>(root.last_forward_use);
    change[first] += root.bytes;
    change[last] -= root.bytes;
    made[first] += root.bytes;
  }
  std::vector<Cut> result(forward);
  std::int64_t live = 0;
  std::int64_t total = 0;
  for (std::size_t n = 0; n < forward; ++n) {
    live += change[n];
    total += made[n];
    result[n] = {.crossing = live, .made = total};
  }
  return result;
}

Fates cut_at(const Problem& problem, const std::vector<std::size_t>& places) {
  Fates fates = problem.all(Fate::redo_once);
  for (std::int32_t choice : problem.choices()) {
    const auto at = static_cast<std::size_t>(choice);
    const Problem::Root& root = problem.roots()[at];
    const auto first = static_cast<std::size_t>(root.makers.front());
    const auto last = static_cast<std::size_t>(root.last_forward_use);
    for (std::size_t place : places)
      if (first <= place && place < last) fates[at] = Fate::keep;
    const bool cheap = std::all_of(root.makers.begin(), root.makers.end(), [&](std::int32_t maker) {
      return problem.graph().nodes()[static_cast<std::size_t>(maker)].op->cheap_to_repeat;
    });
    if (cheap && fates[at] != Fate::keep) fates[at] = Fate::redo_each;
  }
  return fates;
}

}  // namespace

std::vector<Fates> segment_seeds(const Problem& problem) {
  const std::vector<Cut> all = cuts(problem);
  std::vector<Fates> seeds;
  if (all.empty()) return seeds;
  const std::int64_t total = all.back().made;
  for (int segments : {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 30}) {
    std::vector<std::size_t> places;
    for (int k = 1; k < segments; ++k) {
      // The narrowest place in the window around an even share of the bytes.
      const std::int64_t from = total * (2 * k - 1) / (2 * segments);
      const std::int64_t to = total * (2 * k + 1) / (2 * segments);
      std::size_t best = all.size();
      for (std::size_t n = 0; n < all.size(); ++n)
        if (all[n].made >= from && all[n].made <= to &&
            (best == all.size() || all[n].crossing < all[best].crossing))
          best = n;
      if (best < all.size()) places.push_back(best);
    }
    seeds.push_back(cut_at(problem, places));
  }
  return seeds;
}

}  // namespace plimsoll
