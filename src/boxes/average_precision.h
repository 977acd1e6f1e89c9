// How well a detector does on a data set, picture by picture in fixed memory: COCO's twelve numbers
// as pycocotools gives them, and VOC's of 2007 and since 2010.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/mapped_bytes.h"
#include "boxes/picture_outcome.h"
#include "boxes/precision_curves.h"
#include "boxes/record_store.h"

namespace plimsoll::boxes {

// The order of COCO's summary; AP is the mean over IoU 0.5 to 0.95, AR the recall likewise.
inline constexpr std::array<std::string_view, 12> kCocoNumbers{
    "AP",   "AP50",  "AP75",   "AP_small", "AP_medium", "AP_large",
    "AR_1", "AR_10", "AR_100", "AR_small", "AR_medium", "AR_large"};

// Of data with so many classes or fewer, a curve for each is kept.
inline constexpr std::int64_t kMostCurves = 12;

// -1 where the class has no truth to find.
struct ClassPrecision {
  double ap = -1;
  double ap50 = -1;
  double voc_2007 = -1;
  double voc_2012 = -1;
};

struct DetectionScores {
  std::array<double, 12> coco{};  // by kCocoNumbers; -1 where no class has truth in the range
  double voc_2007 = -1;           // means over classes that have truth
  double voc_2012 = -1;
  RecallCurve precision50{};  // at IoU 0.5, mean over classes that have truth
  std::vector<ClassPrecision> classes;
  std::vector<RecallCurve> curves50;  // the same by class, up to kMostCurves; else none
};

// What an evaluation is sized by, all of it known from the index of the data.
struct EvaluationSize {
  std::int64_t classes = 1;                      // at most kMostClasses
  std::int64_t truths_of_a_picture = 1;          // at most
  std::int64_t found_in_a_picture = 1;           // at most
  std::int64_t truths_of_a_class = 1;            // at most, over all pictures
  std::int64_t records = std::int64_t{1} << 18;  // of the buffer; 16 at least
};

// All memory is taken when it is made and is memory(size), which a ledger may tell of; only the
// scores come on top. Thread-compatible.
class AveragePrecision {
 public:
  static Bytes memory(const EvaluationSize& size);
  // More detections than `size.records` wait in a nameless file in `spill_directory`; an empty path
  // means that there are not more. DataError if the directory takes no files.
  AveragePrecision(const EvaluationSize& size, const std::filesystem::path& spill_directory);

  // One picture. Between equal scores the earlier picture comes first: feed pictures in the order
  // of their ids to get what pycocotools gets. Sizes and labels beyond `size` are bugs.
  void add_picture(std::span<const TruthBox> truths, std::span<const FoundBox> found);
  // Detections so far.
  std::int64_t found() const { return store_.size(); }
  // The scores of all pictures; then it is ready for the next round.
  DetectionScores finish();

 private:
  struct Parts;
  AveragePrecision(const Parts& parts, const EvaluationSize& size, MappedBytes memory,
                   const std::filesystem::path& spill_directory);

  MappedBytes memory_;
  std::span<ClassCounts> counts_;
  PictureOutcome outcome_;
  RecordStore store_;
  PrecisionCurves curves_;
};

}  // namespace plimsoll::boxes
