#include "data/source/annotations.h"

#include <algorithm>
#include <limits>

#include "base/held.h"

namespace plimsoll {

void Annotations::add_boxes(std::span<const Box> boxes, Size size) {
  if (boxes_.size() + boxes.size() > std::numeric_limits<std::uint32_t>::max())
    throw DataError({.where = "boxes", .got = "more than 2^32", .expected = "expected fewer"});
  boxes_.insert(boxes_.end(), boxes.begin(), boxes.end());
  box_ends_.push_back(static_cast<std::uint32_t>(boxes_.size()));
  const auto pack = [](std::int64_t n) {
    return n < 0 || n > std::numeric_limits<std::int32_t>::max() ? 0 : static_cast<std::int32_t>(n);
  };
  sizes_.push_back({.height = pack(size.height), .width = pack(size.width)});
}

void Annotations::settle() {
  labels_.shrink_to_fit();
  boxes_.shrink_to_fit();
  box_ends_.shrink_to_fit();
  sizes_.shrink_to_fit();
}

std::span<const Box> Annotations::boxes(std::int64_t i) const {
  if (!has_boxes()) return {};
  const auto at = static_cast<std::size_t>(i);
  const std::size_t first = at == 0 ? 0 : box_ends_[at - 1];
  return std::span(boxes_).subspan(first, box_ends_[at] - first);
}

Size Annotations::size_of(std::int64_t i) const {
  if (!has_boxes()) return {};
  const PackedSize& size = sizes_[static_cast<std::size_t>(i)];
  return {.height = size.height, .width = size.width};
}

void Annotations::relabel(std::span<const std::int32_t> to) {
  for (std::int32_t& label : labels_) label = to[static_cast<std::size_t>(label)];
  for (Box& box : boxes_) box.label = to[static_cast<std::size_t>(box.label)];
}

std::int32_t Annotations::largest_label() const {
  std::int32_t largest = -1;
  for (const std::int32_t label : labels_) largest = std::max(largest, label);
  for (const Box& box : boxes_) largest = std::max(largest, box.label);
  return largest;
}

Bytes Annotations::memory() const {
  return held(labels_) + held(boxes_) + held(box_ends_) + held(sizes_);
}

void ListedSource::finish_index() {
  annotations_.settle();
  class_names_.shrink_to_fit();
  defects_.shrink_to_fit();
  count_samples(*this, index_);
  // A list that grows is copied into one twice as long, and at last into one of its own length.
  index_.opening += annotations_.memory() * 2;
  index_.memory += annotations_.memory() + held(class_names_) + held(index_.per_class) +
                   held(index_.notes) + held(defects_);
  for (const Complaint& defect : defects_)
    for (const std::string* text : {&defect.where, &defect.got, &defect.expected, &defect.hint})
      index_.memory += held(*text);
}

}  // namespace plimsoll
