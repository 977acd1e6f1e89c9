// Detections as COCO has results, for pycocotools and others: a JSON list of image_id, category_id,
// bbox [x, y, width, height] in pixels of the upright picture, and score.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/files.h"
#include "task/detection_tally.h"

namespace plimsoll::cli {

// The file appears when it is whole. Where the data is COCO's, ids are those of its file; else
// image_id is the number of the sample from 1 on and category_id that of the class from 1 on.
class DetectionsFile {
 public:
  explicit DetectionsFile(const std::filesystem::path& path);

  // After the step that evaluated `batch`.
  void add(const StepTensors& results, const Batch& batch);
  void finish();

 private:
  void flush();

  AtomicFile file_;
  std::string text_;  // waits until it is worth writing
  bool first_ = true;
  std::vector<boxes::FoundBox> found_;
};

}  // namespace plimsoll::cli
