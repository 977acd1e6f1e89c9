#include "data/source/source.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "base/held.h"
#include "base/random.h"

namespace plimsoll {
namespace {

constexpr std::array<std::string_view, 4> kTargetKinds{"label", "labels", "numbers", "boxes"};

class Subset final : public Source {
 public:
  Subset(SourcePtr whole, std::vector<std::uint32_t> members)
      : whole_(std::move(whole)), members_(std::move(members)), index_(whole_->index()) {
    members_.shrink_to_fit();
    count_samples(*this, index_);
    const double share = static_cast<double>(size()) /
                         static_cast<double>(std::max<std::int64_t>(1, whole_->size()));
    index_.encoded = {std::llround(static_cast<double>(whole_->index().encoded.count) * share)};
    index_.memory = held(members_) + held(index_.per_class) + held(index_.notes);
    index_.opening = Bytes{0};
  }

  std::int64_t size() const override { return std::ssize(members_); }
  const std::vector<std::string>& class_names() const override { return whole_->class_names(); }
  bool has_boxes() const override { return whole_->has_boxes(); }
  TargetKind target_kind() const override { return whole_->target_kind(); }
  std::span<const std::int32_t> labels(std::int64_t i) const override {
    return whole_->labels(at(i));
  }
  std::span<const float> numbers(std::int64_t i) const override { return whole_->numbers(at(i)); }
  std::int32_t label(std::int64_t i) const override { return whole_->label(at(i)); }
  std::span<const Box> boxes(std::int64_t i) const override { return whole_->boxes(at(i)); }
  Size annotated_size(std::int64_t i) const override { return whole_->annotated_size(at(i)); }
  std::int64_t number(std::int64_t i) const override { return whole_->number(at(i)); }
  std::string where(std::int64_t i) const override { return whole_->where(at(i)); }
  std::string path(std::int64_t i) const override { return whole_->path(at(i)); }
  Encoded read(std::int64_t i, MappedBytes& buffer) const override {
    return whole_->read(at(i), buffer);
  }
  const Index& index() const override { return index_; }
  const Source* whole() const override { return whole_.get(); }
  const std::vector<Complaint>& defects() const override { return whole_->defects(); }

 private:
  std::int64_t at(std::int64_t i) const { return members_[static_cast<std::size_t>(i)]; }

  SourcePtr whole_;
  std::vector<std::uint32_t> members_;
  Index index_;
};

}  // namespace

std::string_view to_string(TargetKind kind) { return kTargetKinds[static_cast<std::size_t>(kind)]; }

TargetKind find_target_kind(std::string_view name) {
  const auto found = std::ranges::find(kTargetKinds, name);
  return found == kTargetKinds.end() ? TargetKind::label
                                     : static_cast<TargetKind>(found - kTargetKinds.begin());
}

bool is_usable(const Box& box, Size frame) {
  // Written so that a NaN fails a comparison.
  const auto is_stretch = [](float from, float to, std::int64_t side) {
    const auto whole = static_cast<float>(side);
    return from < to && from < whole && to > 0 && from >= -whole && to <= 2 * whole;
  };
  return is_stretch(box.x0, box.x1, frame.width) && is_stretch(box.y0, box.y1, frame.height);
}

bool is_trained_on(const Box& box, Size frame) { return !box.crowd && is_usable(box, frame); }

void count_samples(const Source& source, Index& index) {
  index.samples = source.size();
  index.boxes = index.unusable_boxes = index.crowds = 0;
  index.max_boxes = index.max_truths = 0;
  index.background = 0;
  index.per_class.assign(source.class_names().size(), 0);
  const auto count = [&](std::int32_t label) {
    if (label >= 0 && std::cmp_less(label, index.per_class.size()))
      ++index.per_class[static_cast<std::size_t>(label)];
  };
  for (std::int64_t i = 0; i < source.size(); ++i) {
    const std::span<const Box> boxes = source.boxes(i);
    const Size frame = boxes.empty() ? Size{} : source.annotated_size(i);
    std::int64_t trained_on = 0;
    for (const Box& box : boxes) {
      count(box.label);
      if (!is_usable(box, frame))
        ++index.unusable_boxes;
      else
        ++(box.crowd ? index.crowds : trained_on);
    }
    index.boxes += std::ssize(boxes);
    index.max_boxes = std::max(index.max_boxes, trained_on);
    index.max_truths = std::max<std::int64_t>(index.max_truths, std::ssize(boxes));
    if (source.has_boxes())
      index.background += trained_on == 0;
    else
      count(source.label(i));
    for (std::int32_t label : source.labels(i)) count(label);
  }
}

IndexBytes index_bytes(const std::vector<const Source*>& sources) {
  // Lists of members while a source is split, contents and their order while it is scanned.
  constexpr std::int64_t kPerSample = 24;
  IndexBytes sum;
  std::set<const Source*> counted;
  for (const Source* source : sources)
    for (; source != nullptr && counted.insert(source).second; source = source->whole()) {
      const Index& index = source->index();
      sum.held += index.memory;
      sum.opening = std::max({sum.opening, index.opening, Bytes{source->size() * kPerSample}});
    }
  return sum;
}

SourcePtr make_subset(SourcePtr source, std::vector<std::uint32_t> members) {
  for (const std::uint32_t member : members)
    expect(member < source->size(), "a subset of samples that are not there");
  return std::make_shared<Subset>(std::move(source), std::move(members));
}

SplitSources split(const SourcePtr& source, double fraction, std::uint64_t seed) {
  if (!(fraction > 0 && fraction < 1))
    throw UsageError({.where = "--val-split",
                      .got = std::to_string(fraction),
                      .expected = "expected a fraction between 0 and 1, as 0.2"});
  std::map<std::int32_t, std::vector<std::uint32_t>> by_class;
  for (std::int64_t i = 0; i < source->size(); ++i)
    by_class[source->label(i)].push_back(static_cast<std::uint32_t>(i));
  std::vector<std::uint32_t> train;
  std::vector<std::uint32_t> validation;
  for (const auto& [label, members] : by_class) {
    // Keras truncates too; the small excess undoes the rounding of fractions like 0.29 * 100.
    const auto held =
        static_cast<std::int64_t>(fraction * static_cast<double>(members.size()) + 1e-9);
    const PhiloxBlock block =
        philox(seed, static_cast<std::uint64_t>(label + 1), fnv1a64("validation split"));
    const Permutation permutation(std::ssize(members),
                                  static_cast<std::uint64_t>(block[1]) << 32 | block[0]);
    for (std::int64_t k = 0; k < std::ssize(members); ++k)
      (k < held ? validation : train).push_back(members[static_cast<std::size_t>(permutation(k))]);
  }
  if (train.empty() || validation.empty())
    throw UsageError({.where = "--val-split " + std::to_string(fraction),
                      .got = std::to_string(train.size()) + " samples to train on and " +
                             std::to_string(validation.size()) + " to validate on",
                      .expected = "expected at least one of each",
                      .hint = "the fraction is taken from each class: " +
                              std::to_string(source->size()) + " samples are too few for it"});
  std::ranges::sort(train);
  std::ranges::sort(validation);
  return {.train = make_subset(source, std::move(train)),
          .validation = make_subset(source, std::move(validation))};
}

}  // namespace plimsoll
