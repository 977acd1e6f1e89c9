// Local search over fates: from one plan to cheaper ones that fit.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "plan/frontier.h"
#include "plan/schedule.h"

namespace plimsoll {

// What a plan costs before placement.
struct Score {
  std::int64_t peak = 0;
  double seconds = 0;
};

// The best plan seen for each size of peak, in steps of a fraction of a percent.
class Archive {
 public:
  struct Entry {
    Score score;
    Fates fates;
  };
  void offer(const Score& score, const Fates& fates);
  // Entries that no other beats in both, by falling peak.
  std::vector<Entry> pareto() const;
  // The fastest entry of at most `peak`; null if none.
  const Entry* best_within(std::int64_t peak) const;

 private:
  std::map<std::int64_t, Entry> entries_;  // by bucket of peak
};

// Moves one fate at a time. Every plan it evaluates goes to the archive. Deterministic.
class Search {
 public:
  Search(const Problem& problem, const Means& means, Price price, Archive& archive);

  // Changes fates at the steps that exceed `target` until none does; false if it got stuck.
  bool repair(Fates& fates, std::int64_t target);
  // Keeps again what can be kept within `target`, in the order forward makes it.
  void promote(Fates& fates, std::int64_t target);
  // Random changes that may cost time or exceed `target` for a while, less and less so. What comes
  // of them is in the archive. `step_seconds` are those of keeping everything.
  void anneal(Fates fates, std::int64_t target, double step_seconds, int tries);
  // Lowers the peak as far as `tries` random changes near it can.
  void sink(Fates& fates, int tries);

  // Evaluates; a plan without end has an infinite peak.
  Score score(const Fates& fates);

 private:
  struct Excess {
    std::int64_t peak = 0;
    double over = 0;  // bytes above the target, summed over steps
    double seconds = 0;
  };
  Excess excess(const Fates& fates, std::int64_t target);
  // Roots with bytes live at a step, largest first, that have a choice.
  std::vector<std::int32_t> live_choices(std::int32_t step);
  std::size_t random_below(std::size_t limit);
  // Gives `root` a random fate.
  void change(Fates& fates, std::int32_t root);

  const Problem& problem_;
  std::vector<Fate> options_;
  Scheduler scheduler_;
  Archive& archive_;
  std::uint64_t random_ = 0;
};

}  // namespace plimsoll
