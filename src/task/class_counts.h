// What an evaluation counts: how often which class was taken for which.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "task/task.h"
#include "tensor/view.h"

namespace plimsoll {

// Memory grows with the square of the classes up to kMostConfused, beyond only with the classes.
class ClassCounts {
 public:
  static constexpr std::int64_t kMostConfused = 256;

  explicit ClassCounts(std::int64_t classes);

  // Pairs of classes that are counted.
  static std::int64_t cells(std::int64_t classes) {
    return classes <= kMostConfused ? classes * classes : 0;
  }

  // The first `count` rows of [N, classes] logits against their labels; labels outside are
  // counted nowhere.
  void count(const TensorView& logits, std::span<const std::int32_t> labels);
  // The same in two steps: what each was taken for, and the counting. A pair outside of the classes
  // is refused with DataError.
  struct Pair {
    std::int32_t truth = 0;
    std::int32_t taken = 0;
  };
  std::vector<Pair> pairs(const TensorView& logits, std::span<const std::int32_t> labels) const;
  void count(std::span<const Pair> pairs);
  void clear();

  std::int64_t classes() const { return classes_; }
  std::int64_t samples(std::int64_t of) const { return samples_[static_cast<std::size_t>(of)]; }
  std::int64_t correct(std::int64_t of) const { return correct_[static_cast<std::size_t>(of)]; }
  // Samples that were taken for this class, rightly or not.
  std::int64_t taken_for(std::int64_t of) const { return taken_[static_cast<std::size_t>(of)]; }
  // Share of a class's samples that were found; of what was taken for it that is right. 0 of 0 is
  // 0.
  double recall(std::int64_t of) const;
  double precision(std::int64_t of) const;
  bool has_confusion() const { return !confusion_.empty(); }
  // [truth][taken for], row by row; empty with too many classes.
  const std::vector<std::int64_t>& confusion() const { return confusion_; }

 private:
  std::optional<Pair> pair_of(const TensorView& logits, std::span<const std::int32_t> labels,
                              std::size_t at) const;
  void count_pair(const Pair& pair);

  std::int64_t classes_;
  std::vector<std::int64_t> samples_, correct_, taken_, confusion_;
};

// Without rows, for: how many images a class has, the share of them that was found, and the share
// of what was taken for it that is right.
ClassTable class_table(std::string remark_title);

// 0 of 0 is 0.
double share_of(std::int64_t part, std::int64_t whole);

// The index of the largest; the first of equals, and NaN is never largest.
std::int64_t index_of_largest(std::span<const float> values);

}  // namespace plimsoll
