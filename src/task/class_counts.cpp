#include "task/class_counts.h"

#include <algorithm>
#include <string>

#include "base/error.h"

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
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (const std::optional<Pair> pair = pair_of(logits, labels, i)) count_pair(*pair);
}

std::optional<ClassCounts::Pair> ClassCounts::pair_of(const TensorView& logits,
                                                      std::span<const std::int32_t> labels,
                                                      std::size_t at) const {
  const std::int32_t truth = labels[at];
  if (truth < 0 || truth >= classes_) return std::nullopt;
  return Pair{.truth = truth,
              .taken = static_cast<std::int32_t>(
                  index_of_largest({logits.image<float>(static_cast<std::int64_t>(at)),
                                    static_cast<std::size_t>(classes_)}))};
}

std::vector<ClassCounts::Pair> ClassCounts::pairs(const TensorView& logits,
                                                  std::span<const std::int32_t> labels) const {
  std::vector<Pair> all;
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (const std::optional<Pair> pair = pair_of(logits, labels, i)) all.push_back(*pair);
  return all;
}

void ClassCounts::count(std::span<const Pair> pairs) {
  for (const Pair& pair : pairs) {
    for (const std::int32_t label : {pair.truth, pair.taken})
      if (label < 0 || label >= classes_)
        throw DataError({.where = "an evaluation's counts",
                         .got = "class " + std::to_string(label),
                         .expected = "expected one of " + std::to_string(classes_)});
    count_pair(pair);
  }
}

void ClassCounts::count_pair(const Pair& pair) {
  const auto truth = static_cast<std::size_t>(pair.truth);
  const auto taken = static_cast<std::size_t>(pair.taken);
  ++samples_[truth];
  ++taken_[taken];
  if (taken == truth) ++correct_[truth];
  if (has_confusion()) ++confusion_[truth * static_cast<std::size_t>(classes_) + taken];
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
