// What is kept of a detection once its picture is done: 16 bytes.
#pragma once

#include <array>
#include <cstdint>

namespace plimsoll::boxes {

inline constexpr int kIouThresholds = 10;
inline constexpr int kAreas = 4;  // all, small, medium, large
inline constexpr int kPairs = kAreas * kIouThresholds;
inline constexpr std::int64_t kMostClasses = 1 << 14;

// How a detection counts.
enum class Outcome : std::uint8_t { ignored, right, wrong };

// The score, the class with the outcome by VOC's rule, and the outcome for each pair of area range
// and IoU threshold by COCO's, at area * kIouThresholds + threshold.
class DetectionRecord {
 public:
  DetectionRecord() = default;
  DetectionRecord(float score, std::int32_t label, Outcome voc)
      : score_(score),
        label_and_voc_(static_cast<std::uint16_t>(label << 2 | static_cast<int>(voc))) {}

  float score() const { return score_; }
  std::int32_t label() const { return label_and_voc_ >> 2; }
  Outcome voc() const { return static_cast<Outcome>(label_and_voc_ & 3); }
  Outcome coco(int pair) const {
    return static_cast<Outcome>(outcomes_[static_cast<std::size_t>(pair / 4)] >> pair % 4 * 2 & 3);
  }
  // Once for each pair.
  void set_coco(int pair, Outcome outcome) {
    outcomes_[static_cast<std::size_t>(pair / 4)] |=
        static_cast<std::uint8_t>(static_cast<int>(outcome) << pair % 4 * 2);
  }

 private:
  float score_ = 0;
  std::uint16_t label_and_voc_ = 0;
  std::array<std::uint8_t, kPairs / 4> outcomes_{};
};
static_assert(sizeof(DetectionRecord) == 16);

}  // namespace plimsoll::boxes
