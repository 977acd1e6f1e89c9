#include "data/source/annotations.h"

#include <algorithm>
#include <limits>

#include "base/held.h"

namespace plimsoll {

bool is_frame(Size size) {
  constexpr std::int64_t kMost = 1'000'000'000;
  return size.height >= 1 && size.width >= 1 && size.height <= kMost && size.width <= kMost;
}

float to_corner(double pixels) {
  constexpr double kFurthest = 1e30;
  return static_cast<float>(std::clamp(pixels, -kFurthest, kFurthest));
}

float area_of(const Box& box) { return (box.x1 - box.x0) * (box.y1 - box.y0); }

void Annotations::add_boxes(std::span<const Box> boxes, Size frame) {
  expect(boxes.empty() || is_frame(frame), "a frame for boxes");
  if (boxes_.size() + boxes.size() > std::numeric_limits<std::uint32_t>::max())
    throw DataError({.where = "boxes", .got = "more than 2^32", .expected = "expected fewer"});
  boxes_.insert(boxes_.end(), boxes.begin(), boxes.end());
  box_ends_.push_back(static_cast<std::uint32_t>(boxes_.size()));
  if (!is_frame(frame)) frame = {};
  sizes_.push_back({.height = static_cast<std::int32_t>(frame.height),
                    .width = static_cast<std::int32_t>(frame.width)});
}

void Annotations::add_labels(std::span<const std::int32_t> labels) {
  if (labels_.size() + labels.size() > std::numeric_limits<std::uint32_t>::max())
    throw DataError({.where = "labels", .got = "more than 2^32", .expected = "expected fewer"});
  labels_.insert(labels_.end(), labels.begin(), labels.end());
  label_ends_.push_back(static_cast<std::uint32_t>(labels_.size()));
}

void Annotations::add_numbers(std::span<const float> numbers) {
  numbers_each_ = numbers.size();
  numbers_.insert(numbers_.end(), numbers.begin(), numbers.end());
}

TargetKind Annotations::kind() const {
  if (has_boxes()) return TargetKind::boxes;
  if (!label_ends_.empty()) return TargetKind::labels;
  return numbers_each_ > 0 ? TargetKind::numbers : TargetKind::label;
}

std::int64_t Annotations::size() const {
  switch (kind()) {
    case TargetKind::boxes: return std::ssize(sizes_);
    case TargetKind::labels: return std::ssize(label_ends_);
    case TargetKind::numbers: return static_cast<std::int64_t>(numbers_.size() / numbers_each_);
    case TargetKind::label: break;
  }
  return std::ssize(labels_);
}

std::span<const std::int32_t> Annotations::labels(std::int64_t i) const {
  if (label_ends_.empty()) return {};
  const auto at = static_cast<std::size_t>(i);
  const std::size_t first = at == 0 ? 0 : label_ends_[at - 1];
  return std::span(labels_).subspan(first, label_ends_[at] - first);
}

std::span<const float> Annotations::numbers(std::int64_t i) const {
  return std::span(numbers_).subspan(static_cast<std::size_t>(i) * numbers_each_, numbers_each_);
}

void Annotations::settle() {
  labels_.shrink_to_fit();
  label_ends_.shrink_to_fit();
  numbers_.shrink_to_fit();
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
  return held(labels_) + held(label_ends_) + held(numbers_) + held(boxes_) + held(box_ends_) +
         held(sizes_);
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
