// What is known about samples beside their bytes, packed: 4 bytes for a label or a number, 28 for a
// box.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/source/source.h"

namespace plimsoll {

// Whether an annotation's size can be one: sides of 1 to 10^9 pixels.
bool is_frame(Size size);
// A corner as a Box holds it. What is further out than 10^30 pixels is as far out as that.
float to_corner(double pixels);
// Width times height.
float area_of(const Box& box);

// Grows by add(); then read-only.
class Annotations {
 public:
  void add_label(std::int32_t label) { labels_.push_back(label); }
  // A sample with any number of labels, or with numbers, as many as every other has.
  void add_labels(std::span<const std::int32_t> labels);
  void add_numbers(std::span<const float> numbers);
  // A sample with boxes in that frame, whose size is known if there is one. All samples of a list
  // have targets of one kind.
  void add_boxes(std::span<const Box> boxes, Size frame);
  // Gives back what growing took too much of.
  void settle();

  TargetKind kind() const;
  std::int64_t size() const;
  bool has_boxes() const { return !sizes_.empty(); }
  std::int32_t label(std::int64_t i) const {
    return kind() == TargetKind::label ? labels_[static_cast<std::size_t>(i)] : -1;
  }
  std::span<const std::int32_t> labels(std::int64_t i) const;
  std::span<const float> numbers(std::int64_t i) const;
  std::span<const Box> boxes(std::int64_t i) const;
  Size size_of(std::int64_t i) const;

  // Replaces every label l by to[l].
  void relabel(std::span<const std::int32_t> to);
  // The largest label there is; -1 where there is none.
  std::int32_t largest_label() const;
  Bytes memory() const;

 private:
  struct PackedSize {
    std::int32_t height, width;
  };

  std::vector<std::int32_t> labels_;
  std::vector<std::uint32_t> label_ends_;  // of several: those of sample i end at label_ends_[i]
  std::vector<float> numbers_;
  std::size_t numbers_each_ = 0;
  std::vector<Box> boxes_;
  std::vector<std::uint32_t> box_ends_;  // of sample i: boxes [box_ends_[i-1], box_ends_[i])
  std::vector<PackedSize> sizes_;
};

// What all sources that list their samples share.
class ListedSource : public Source {
 public:
  std::int64_t size() const override { return annotations_.size(); }
  const std::vector<std::string>& class_names() const override { return class_names_; }
  bool has_boxes() const override { return annotations_.has_boxes(); }
  TargetKind target_kind() const override { return annotations_.kind(); }
  std::span<const std::int32_t> labels(std::int64_t i) const override {
    return annotations_.labels(i);
  }
  std::span<const float> numbers(std::int64_t i) const override { return annotations_.numbers(i); }
  std::int32_t label(std::int64_t i) const override { return annotations_.label(i); }
  std::span<const Box> boxes(std::int64_t i) const override { return annotations_.boxes(i); }
  Size annotated_size(std::int64_t i) const override { return annotations_.size_of(i); }
  const Index& index() const override { return index_; }
  const std::vector<Complaint>& defects() const override { return defects_; }

 protected:
  // To be called when the annotations are whole.
  void finish_index();

  std::vector<std::string> class_names_;
  Annotations annotations_;
  Index index_;
  std::vector<Complaint> defects_;
};

}  // namespace plimsoll
