// Boxes with a class: detectors with anchors, of one stage (RetinaNet) or two (Faster R-CNN).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "task/task.h"

namespace plimsoll {

struct DetectionOptions {
  std::int64_t classes = 1;
  std::vector<std::string> class_names = {};
  std::int64_t anchor_base = 32;  // side of the smallest square anchor of the finest level, pixels
  std::int64_t most_boxes = 100;  // of a picture that is trained on or evaluated
  // Of what is evaluated: annotations of a picture, and of a class in all pictures, at most.
  std::int64_t most_truths = 100;
  std::int64_t most_truths_of_class = 10'000;
  double score_threshold = 0.05;  // detections up to this are none
};

// What a step is fed: boxes f32 [N,G,4] in pixels of the canvas · box_labels i32 [N,G] ·
// box_count i32 [N] · in evaluation, and by two stages in training too, extent f32 [N,2], height
// and width of the canvas that a picture covers · of two stages in evaluation lots i64 [2], the
// number of the first picture in its set and 0. What it reports: loss, cls_loss, box_loss f32 [1]
// and, in evaluation, detections f32 [N,300,6] (two stages: 100; box on the canvas, score, class;
// best first, zeros behind the last) and detections/counts i32 [N].
//
// Anchors, matching, losses and suppression are torchvision's, of the network's kind. Of two stages
// cls_loss and box_loss are sums over both, of anchors and boxes that are drawn at random; those of
// an evaluation are drawn from what the first stage proposes alone, without the truth among it, and
// by a picture's number in its set: the same at any time.
TaskPtr make_detection(const DetectionOptions& options);

}  // namespace plimsoll
