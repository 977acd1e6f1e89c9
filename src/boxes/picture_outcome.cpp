#include "boxes/picture_outcome.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"

namespace plimsoll::boxes {
namespace {

// pycocotools' own, to the bit: numpy's linspace(0.5, 0.95, 10).
constexpr std::array<double, kIouThresholds> kThresholds{
    0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.8999999999999999, 0.95};
constexpr std::int64_t kMostCounted = 100;  // detections of a picture and class
constexpr int kVocBit = kPairs;
constexpr double kVocThreshold = 0.5;

struct AreaRange {
  double least, most;
  bool has(double area) const { return !(area < least || area > most); }
};
constexpr std::array<AreaRange, kAreas> kRanges{
    {{0, 1e10}, {0, 32 * 32}, {32 * 32, 96 * 96}, {96 * 96, 1e10}}};

// With a crowd: the share of the detection that lies inside.
double iou_of(const FoundBox& one, const TruthBox& truth) {
  const double width =
      std::fmin(one.width + one.x, truth.width + truth.x) - std::fmax(one.x, truth.x);
  if (!(width > 0)) return 0;
  const double height =
      std::fmin(one.height + one.y, truth.height + truth.y) - std::fmax(one.y, truth.y);
  if (!(height > 0)) return 0;
  const double shared = width * height;
  const double area = one.width * one.height;
  return shared / (truth.crowd ? area : area + truth.width * truth.height - shared);
}

bool is_ignored(const TruthBox& truth, std::size_t area) {
  return truth.crowd || !kRanges[area].has(truth.area);
}

constexpr std::int64_t kBytesOfTruth = 8 + 8 + 4 * kAreas + 4;
constexpr std::int64_t kBytesOfFound = 4;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

}  // namespace

std::int64_t PictureOutcome::bytes(std::int64_t most_truths, std::int64_t most_found) {
  return most_truths * kBytesOfTruth + most_found * kBytesOfFound;
}

PictureOutcome::PictureOutcome(std::byte* memory, std::int64_t most_truths,
                               std::int64_t most_found) {
  const auto carve = [&]<class T>(std::span<T>& part, std::int64_t count) {
    part = {reinterpret_cast<T*>(memory), at(count)};
    memory += part.size_bytes();
  };
  carve(ious_, most_truths);
  carve(taken_, most_truths);
  carve(by_area_, kAreas * most_truths);
  carve(truth_order_, most_truths);
  carve(found_order_, most_found);
}

void PictureOutcome::begin_class(std::span<const TruthBox> truths,
                                 std::span<const std::int32_t> members) {
  std::fill_n(taken_.begin(), members.size(), std::uint64_t{0});
  for (std::size_t area = 0; area < kAreas; ++area) {
    std::int32_t* order = by_area_.data() + area * members.size();
    for (const bool ignored : {false, true}) {
      for (std::size_t i = 0; i < members.size(); ++i)
        if (is_ignored(truths[at(members[i])], area) == ignored)
          *order++ = static_cast<std::int32_t>(i);
      if (!ignored) real_[area] = order - (by_area_.data() + area * members.size());
    }
  }
}

DetectionRecord PictureOutcome::settle_one(const FoundBox& one, std::int64_t rank,
                                           std::span<const TruthBox> truths,
                                           std::span<const std::int32_t> members,
                                           ClassCounts& counts) {
  double nearest = 0;       // of any
  double voc_nearest = -1;  // of those VOC has, the first of equals
  std::size_t voc_truth = 0;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const TruthBox& truth = truths[at(members[i])];
    ious_[i] = iou_of(one, truth);
    nearest = std::max(nearest, ious_[i]);
    if (truth.crowd || !(ious_[i] > voc_nearest)) continue;
    voc_nearest = ious_[i];
    voc_truth = i;
  }
  Outcome voc = Outcome::wrong;
  if (voc_nearest > kVocThreshold) {
    if (truths[at(members[voc_truth])].difficult)
      voc = Outcome::ignored;
    else if ((taken_[voc_truth] >> kVocBit & 1) == 0)
      voc = Outcome::right;
    taken_[voc_truth] |= std::uint64_t{1} << kVocBit;
  }
  DetectionRecord record(one.score, one.label, voc);
  if (rank >= kMostCounted) return record;
  for (std::size_t area = 0; area < kAreas; ++area) {
    const std::int32_t* order = by_area_.data() + area * members.size();
    const bool inside = kRanges[area].has(one.width * one.height);
    for (std::size_t t = 0; t < kIouThresholds; ++t) {
      const auto pair = area * kIouThresholds + t;
      double least = std::min(kThresholds[t], 1 - 1e-10);
      std::int64_t match = -1;
      for (std::int64_t k = 0; nearest >= least && k < std::ssize(members); ++k) {
        const auto i = at(order[k]);
        const bool is_free = (taken_[i] >> pair & 1) == 0 || truths[at(members[i])].crowd;
        if (!is_free) continue;
        if (match >= 0 && match < real_[area] && k >= real_[area]) break;
        if (ious_[i] < least) continue;
        least = ious_[i];
        match = k;
      }
      Outcome outcome = inside ? Outcome::wrong : Outcome::ignored;
      if (match >= 0) {
        taken_[at(order[match])] |= std::uint64_t{1} << pair;
        outcome = match < real_[area] ? Outcome::right : Outcome::ignored;
      }
      record.set_coco(static_cast<int>(pair), outcome);
      if (outcome != Outcome::right || area != 0) continue;
      counts.right_of_1[t] += rank < 1 ? 1 : 0;
      counts.right_of_10[t] += rank < 10 ? 1 : 0;
    }
  }
  return record;
}

void PictureOutcome::settle(std::span<const TruthBox> truths, std::span<const FoundBox> found,
                            std::span<ClassCounts> counts,
                            const std::function<void(const DetectionRecord&)>& keep) {
  expect(truths.size() <= truth_order_.size() && found.size() <= found_order_.size(),
         "a picture of no more boxes than there is memory for");
  const auto has_counts = [&](const auto& box) {
    return box.label >= 0 && at(box.label) < counts.size();
  };
  expect(std::ranges::all_of(truths, has_counts) && std::ranges::all_of(found, has_counts),
         "labels of known classes");
  for (const TruthBox& truth : truths) {
    ClassCounts& of = counts[at(truth.label)];
    for (std::size_t area = 0; area < kAreas; ++area)
      of.truths[area] += is_ignored(truth, area) ? 0 : 1;
    of.voc_truths += truth.crowd || truth.difficult ? 0 : 1;
  }
  const auto truth_order = truth_order_.first(truths.size());
  std::iota(truth_order.begin(), truth_order.end(), 0);
  std::ranges::sort(truth_order, [&](std::int32_t a, std::int32_t b) {
    const std::int32_t left = truths[at(a)].label;
    const std::int32_t right = truths[at(b)].label;
    return left != right ? left < right : a < b;
  });
  const auto found_order = found_order_.first(found.size());
  std::iota(found_order.begin(), found_order.end(), 0);
  std::ranges::sort(found_order, [&](std::int32_t a, std::int32_t b) {
    const FoundBox &left = found[at(a)], &right = found[at(b)];
    if (left.label != right.label) return left.label < right.label;
    const bool left_is_nan = left.score != left.score;
    const bool right_is_nan = right.score != right.score;
    if (left_is_nan != right_is_nan) return right_is_nan;
    return left.score > right.score || (!(right.score > left.score) && a < b);
  });
  std::int32_t label = -1;
  std::int64_t rank = 0;
  std::span<const std::int32_t> members;
  for (const std::int32_t index : found_order) {
    const FoundBox& one = found[at(index)];
    if (one.label != label) {
      label = one.label;
      rank = 0;
      const auto label_of = [&](std::int32_t i) { return truths[at(i)].label; };
      // Not equal_range, whose result clang 14 cannot read from GCC 12's headers.
      members = {std::ranges::lower_bound(truth_order, label, {}, label_of),
                 std::ranges::upper_bound(truth_order, label, {}, label_of)};
      begin_class(truths, members);
    }
    keep(settle_one(one, rank++, truths, members, counts[at(label)]));
  }
}

}  // namespace plimsoll::boxes
