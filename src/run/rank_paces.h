// How fast the ranks of a run are, from what each tells before every step.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "dist/word.h"

namespace plimsoll {

// A rank that is slower than the others.
struct Straggler {
  int rank = 0;
  double slower = 0;           // than the median, as a share: 0.25 is a quarter
  double step_seconds = 0;     // of its own, without waiting for others
  double waited_for_data = 0;  // seconds of these
};

class RankPaces {
 public:
  static constexpr std::int64_t kSteps = 50;
  static constexpr double kSlower = 1.1;

  // The words of all ranks before a step. By the thread of the run.
  void note(std::span<const dist::Word> words);
  // Every kSteps steps those that were slower than the median by a tenth over all of them, each
  // once in a run; else empty. By the thread of the run.
  std::vector<Straggler> find_stragglers();
  // What a rank told last; a word of zeros before the first. By any thread.
  dist::Word last_of(int rank) const;

 private:
  // Over the steps that were counted, in seconds.
  struct Pace {
    double worked = 0;  // waiting for others left out
    double waited_for_data = 0;
    bool is_told = false;
    double seconds() const { return worked + waited_for_data; }
  };

  std::vector<Pace> paces_;
  std::int64_t counted_ = 0;
  mutable std::mutex mutex_;
  std::vector<dist::Word> last_;  // guarded by mutex_
};

}  // namespace plimsoll
