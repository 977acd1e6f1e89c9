#include "data/source/record_labels.h"

#include <algorithm>

namespace plimsoll {
namespace {

// No head is wider; a label beyond it is damage or a number of another kind.
constexpr std::int64_t kMostClasses = 1'000'000;

}  // namespace

RecordLabels::RecordLabels(LabelMap map, std::vector<std::string> class_names,
                           std::int64_t first_label)
    : fixed_(std::move(class_names)), first_label_(first_label) {
  const bool from_map = fixed_.empty();
  for (const auto& [number, name] : map) {
    if (from_map) fixed_.push_back(name);
    const auto found = std::ranges::find(fixed_, name);
    if (found != fixed_.end())
      by_number_[number] = static_cast<std::int32_t>(found - fixed_.begin());
  }
  for (std::size_t i = 0; i < fixed_.size(); ++i)
    by_name_.emplace(fixed_[i], static_cast<std::int32_t>(i));
}

std::optional<std::int32_t> RecordLabels::find(std::int64_t number, std::string_view name) {
  if (!by_number_.empty()) {
    const auto found = by_number_.find(number);
    return found == by_number_.end() ? std::nullopt : std::optional(found->second);
  }
  if (!fixed_.empty() && !name.empty()) {
    const auto found = by_name_.find(name);
    if (found != by_name_.end()) return found->second;
    // Another name than the training set has for this number is another class.
    if (!by_name_.contains(std::to_string(number))) return std::nullopt;
  }
  std::int64_t label = 0;
  if (__builtin_sub_overflow(number, first_label_, &label)) return std::nullopt;
  const std::int64_t end = fixed_.empty() ? kMostClasses : std::ssize(fixed_);
  if (label < 0 || label >= end || has_names_) return std::nullopt;
  has_numbers_ = fixed_.empty();
  const auto result = static_cast<std::int32_t>(label);
  if (fixed_.empty() && !name.empty())
    if (const auto [first, is_new] = seen_.try_emplace(result, name);
        !is_new && first->second != name)
      also_.try_emplace(result, name);
  return result;
}

std::optional<std::int32_t> RecordLabels::find(std::string_view name) {
  const auto found = by_name_.find(name);
  if (found != by_name_.end()) return found->second;
  if (!fixed_.empty() || has_numbers_ || std::ssize(by_name_) >= kMostClasses) return std::nullopt;
  has_names_ = true;
  const auto next = static_cast<std::int32_t>(by_name_.size());
  by_name_.emplace(name, next);
  return next;
}

std::vector<std::string> RecordLabels::notes() const {
  std::vector<std::string> notes;
  if (unnamed_ > 0)
    notes.push_back(std::to_string(unnamed_) + (unnamed_ == 1 ? " class has" : " classes have") +
                    " a number and no name; --label-map FILE gives them names");
  for (const auto& [label, name] : also_)
    notes.push_back("records call class " + std::to_string(label + first_label_) + " both '" +
                    seen_.at(label) + "' and '" + name + "'; it is named by the first");
  return notes;
}

std::string RecordLabels::expected() const {
  if (!by_number_.empty())
    return "expected one of the " + std::to_string(by_number_.size()) + " of the label map";
  if (!fixed_.empty())
    return "expected one of the " + std::to_string(fixed_.size()) + " classes, counted from " +
           std::to_string(first_label_);
  if (has_names_) return "expected the name of a class, as other records have";
  return "expected a number from " + std::to_string(first_label_) + " on";
}

std::vector<std::string> RecordLabels::settle(Annotations& annotations) {
  if (!fixed_.empty()) return fixed_;
  if (has_names_) {  // in the order of the names, as a map has them
    std::vector<std::string> names;
    std::vector<std::int32_t> to(by_name_.size());
    for (const auto& [name, provisional] : by_name_) {
      to[static_cast<std::size_t>(provisional)] = static_cast<std::int32_t>(names.size());
      names.push_back(name);
    }
    annotations.relabel(to);
    return names;
  }
  std::vector<std::string> names;
  for (std::int32_t label = 0; label <= annotations.largest_label(); ++label) {
    const auto found = seen_.find(label);
    names.push_back(found != seen_.end() ? found->second : std::to_string(label + first_label_));
    unnamed_ += found == seen_.end();
  }
  return names;
}

}  // namespace plimsoll
