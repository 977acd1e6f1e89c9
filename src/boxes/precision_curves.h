// Precision over recall of one class, drawn while its detections pass by falling score.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "boxes/detection_record.h"
#include "boxes/picture_outcome.h"

namespace plimsoll::boxes {

inline constexpr int kRecalls = 101;  // COCO's recall thresholds, i * 0.01
using RecallCurve = std::array<double, kRecalls>;

// 40 curves for COCO and one for VOC. A curve is the greatest precision at each recall threshold
// and beyond; between two thresholds only the greatest counts, so that is all that is kept. VOC
// since 2010 integrates over every step of recall: the wrong ones before each right one are kept.
class PrecisionCurves {
 public:
  // `wrong_before` is memory for one number for each VOC truth of the largest class.
  explicit PrecisionCurves(std::span<std::uint32_t> wrong_before) : wrong_before_(wrong_before) {}

  // For the next class; `counts` stays the caller's until the next call.
  void begin(const ClassCounts& counts);
  void add(const DetectionRecord& record);

  // The precision at every recall threshold. Wants a class that has truth in the area range.
  RecallCurve curve(int area, int threshold) const;
  // Of all truths in the range, the share that was found.
  double recall(int area, int threshold) const;
  // Mean of the greatest precision with recall >= 0, 0.1, ... 1; 0 without truth.
  double voc_2007() const;
  // The area under precision made falling; 0 without truth.
  double voc_2012() const;

 private:
  struct Curve {
    std::int64_t right = 0;
    std::int64_t wrong = 0;
    int reached = 0;  // the highest recall threshold
    RecallCurve precision{};
  };

  const ClassCounts* counts_ = nullptr;
  std::span<std::uint32_t> wrong_before_;
  std::array<Curve, kPairs> curves_;
  std::int64_t voc_right_ = 0;
  std::int64_t voc_wrong_ = 0;
};

}  // namespace plimsoll::boxes
