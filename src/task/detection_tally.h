// What an evaluation of a detector adds up: average precision over all pictures.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "boxes/average_precision.h"
#include "task/task.h"

namespace plimsoll {

// Puts the rows of a step's detections for picture `at` of a batch, in pixels of the upright
// picture, best first, into `found`.
void find_in(const StepTensors& results, const Batch& batch, std::int64_t at,
             std::vector<boxes::FoundBox>& found);

// Metrics that its finish() puts in: mAP and mAP50, at `first_metric` and behind it.
class DetectionTally final : public Tally {
 public:
  DetectionTally(const boxes::EvaluationSize& size, const std::filesystem::path& directory,
                 const std::vector<std::string>& names, std::size_t first_metric);

  void clear() override;
  void add(const StepTensors& results, const Batch& batch) override;
  std::string evidence(const StepTensors& results, const Batch& batch) override;
  void add_evidence(std::string_view evidence) override;
  void finish(std::span<double> metrics) override;
  ClassTable classes() const override;
  std::vector<EvaluationPicture> pictures(const std::string& title) const override;
  // After finish(); COCO's and VOC's numbers.
  const boxes::DetectionScores& scores() const { return scores_; }

 private:
  // Puts into truths_ and found_ what is in picture `at`, and what was found in it.
  void look_at(const StepTensors& results, const Batch& batch, std::int64_t at);
  void add_picture();

  boxes::EvaluationSize size_;
  boxes::AveragePrecision precision_;
  const std::vector<std::string>& names_;
  std::size_t first_metric_;
  // Of the picture at hand; they keep their room.
  std::vector<Box> annotated_;
  std::vector<boxes::TruthBox> truths_;
  std::vector<boxes::FoundBox> found_;
  std::vector<std::int64_t> boxes_of_class_;
  boxes::DetectionScores scores_;
};

}  // namespace plimsoll
