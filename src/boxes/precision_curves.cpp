#include "boxes/precision_curves.h"

#include <algorithm>

namespace plimsoll::boxes {
namespace {

double ratio(std::int64_t part, std::int64_t whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

void PrecisionCurves::begin(const ClassCounts& counts) {
  counts_ = &counts;
  curves_.fill({});
  voc_right_ = voc_wrong_ = 0;
}

void PrecisionCurves::add(const DetectionRecord& record) {
  for (int pair = 0; pair < kPairs; ++pair) {
    const Outcome outcome = record.coco(pair);
    if (outcome == Outcome::ignored) continue;
    Curve& curve = curves_[static_cast<std::size_t>(pair)];
    if (outcome == Outcome::wrong) {
      ++curve.wrong;
      continue;
    }
    ++curve.right;
    const double recall =
        ratio(curve.right, counts_->truths[static_cast<std::size_t>(pair / kIouThresholds)]);
    while (curve.reached + 1 < kRecalls && recall >= (curve.reached + 1) * 0.01) ++curve.reached;
    double& best = curve.precision[static_cast<std::size_t>(curve.reached)];
    // numpy.spacing(1) keeps 0 / 0 away in pycocotools; it is below the rounding of other sums.
    best = std::max(best, static_cast<double>(curve.right) /
                              (static_cast<double>(curve.right + curve.wrong) + 0x1p-52));
  }
  if (record.voc() == Outcome::wrong) ++voc_wrong_;
  if (record.voc() == Outcome::right)
    wrong_before_[static_cast<std::size_t>(voc_right_++)] = static_cast<std::uint32_t>(voc_wrong_);
}

RecallCurve PrecisionCurves::curve(int area, int threshold) const {
  RecallCurve falling =
      curves_[static_cast<std::size_t>(area * kIouThresholds + threshold)].precision;
  for (std::size_t i = kRecalls - 1; i > 0; --i)
    falling[i - 1] = std::max(falling[i - 1], falling[i]);
  return falling;
}

double PrecisionCurves::recall(int area, int threshold) const {
  return ratio(curves_[static_cast<std::size_t>(area * kIouThresholds + threshold)].right,
               counts_->truths[static_cast<std::size_t>(area)]);
}

double PrecisionCurves::voc_2007() const {
  double total = 0;
  double best = 0;
  int next = 10;  // thresholds from the highest down
  for (std::int64_t right = voc_right_; right > 0; --right) {
    const double recall = ratio(right, counts_->voc_truths);
    for (; next >= 0 && recall < next * 0.1; --next) total += best / 11;
    const std::int64_t wrong = wrong_before_[static_cast<std::size_t>(right - 1)];
    best = std::max(best, ratio(right, right + wrong));
  }
  for (; next >= 0; --next) total += best / 11;
  return total;
}

double PrecisionCurves::voc_2012() const {
  double total = 0;
  double best = 0;
  for (std::int64_t right = voc_right_; right > 0; --right) {
    const std::int64_t wrong = wrong_before_[static_cast<std::size_t>(right - 1)];
    best = std::max(best, ratio(right, right + wrong));
    const double step = ratio(right, counts_->voc_truths) - ratio(right - 1, counts_->voc_truths);
    total += step * best;
  }
  return total;
}

}  // namespace plimsoll::boxes
