// The detections of one picture against its truth, by the rules of COCO and of VOC at once.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>

#include "boxes/detection_record.h"

namespace plimsoll::boxes {

// Corner and sides, as annotations give them: x + width may round where x1 - x0 would round back
// otherwise, and equal IoUs are to be equal.
struct TruthBox {
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;
  double area = 0;  // of the outline, where COCO gives it; else width * height
  std::int32_t label = 0;
  bool crowd = false;      // COCO: may be matched by many and counts for nothing; VOC: not there
  bool difficult = false;  // VOC: counts for nothing; COCO: an object like others
};

struct FoundBox {
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;
  float score = 0;
  std::int32_t label = 0;
};

// What COCO's curves need to know of the truth, and what is counted before they are drawn.
struct ClassCounts {
  std::array<std::int64_t, kAreas> truths{};  // neither crowds nor outside the area range
  std::int64_t voc_truths = 0;                // neither difficult nor crowds
  // Right ones among the first detection, and the first ten, of every picture; all areas.
  std::array<std::int64_t, kIouThresholds> right_of_1{};
  std::array<std::int64_t, kIouThresholds> right_of_10{};
};

// Settles one picture after the other. COCO: per class the first 100 detections by score (the first
// of equals first); for every pair of area range and IoU threshold each takes the free truth with
// the largest IoU >= the threshold, the last of equals, a real one before one that is ignored.
// Matched to an ignored one, or unmatched and of an area outside the range: ignored. VOC: the truth
// with the largest IoU, the first of equals; right if that is > 0.5 and free. Works in memory given
// to it, for pictures of as many boxes as that is for.
class PictureOutcome {
 public:
  static std::int64_t bytes(std::int64_t most_truths, std::int64_t most_found);
  // `memory` holds bytes(...) and is aligned to 8.
  PictureOutcome(std::byte* memory, std::int64_t most_truths, std::int64_t most_found);

  // Calls keep(record) for every detection, by class and then by score; `counts` has an entry for
  // every label. More boxes than there is memory for, or other labels, are bugs of the caller.
  void settle(std::span<const TruthBox> truths, std::span<const FoundBox> found,
              std::span<ClassCounts> counts,
              const std::function<void(const DetectionRecord&)>& keep);

 private:
  void begin_class(std::span<const TruthBox> truths, std::span<const std::int32_t> members);
  DetectionRecord settle_one(const FoundBox& one, std::int64_t rank,
                             std::span<const TruthBox> truths,
                             std::span<const std::int32_t> members, ClassCounts& counts);

  std::span<double> ious_;           // of the detection in hand with every truth of its class
  std::span<std::uint64_t> taken_;   // a bit for each pair, and one for VOC
  std::span<std::int32_t> by_area_;  // kAreas orders of the class' truths, real ones first
  std::span<std::int32_t> truth_order_;
  std::span<std::int32_t> found_order_;
  std::array<std::int64_t, kAreas> real_{};  // how many of each order count
};

}  // namespace plimsoll::boxes
