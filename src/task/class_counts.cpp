#include "task/class_counts.h"

#include <algorithm>

namespace plimsoll {

std::int64_t index_of_largest(std::span<const float> values) {
  std::size_t best = 0;
  for (std::size_t k = 1; k < values.size(); ++k)
    if (values[k] > values[best] || values[best] != values[best]) best = k;
  return static_cast<std::int64_t>(best);
}

ClassCounts::ClassCounts(std::int64_t classes)
    : classes_(classes),
      samples_(static_cast<std::size_t>(classes)),
      correct_(samples_),
      taken_(samples_),
      confusion_(static_cast<std::size_t>(cells(classes))) {}

void ClassCounts::clear() {
  for (auto* counts : {&samples_, &correct_, &taken_, &confusion_})
    std::fill(counts->begin(), counts->end(), 0);
}

void ClassCounts::count(const TensorView& logits, std::span<const std::int32_t> labels) {
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const std::int64_t truth = labels[i];
    if (truth < 0 || truth >= classes_) continue;
    const std::int64_t taken = index_of_largest(
        {logits.image<float>(static_cast<std::int64_t>(i)), static_cast<std::size_t>(classes_)});
    ++samples_[static_cast<std::size_t>(truth)];
    ++taken_[static_cast<std::size_t>(taken)];
    if (taken == truth) ++correct_[static_cast<std::size_t>(truth)];
    if (has_confusion()) ++confusion_[static_cast<std::size_t>(truth * classes_ + taken)];
  }
}

ClassTable class_table(std::string remark_title) {
  return {.columns = {{"images", "images", ClassTable::Unit::count},
                      {"recall", "recall"},
                      {"precision", "precision"}},
          .remark_title = std::move(remark_title),
          .rows = {}};
}

double share_of(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

double ClassCounts::recall(std::int64_t of) const { return share_of(correct(of), samples(of)); }
double ClassCounts::precision(std::int64_t of) const {
  return share_of(correct(of), taken_for(of));
}

}  // namespace plimsoll
