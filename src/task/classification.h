// One class for every picture.
#pragma once

#include <string>
#include <vector>

#include "task/task.h"

namespace plimsoll {

struct ClassificationOptions {
  std::string loss = "categorical_crossentropy";  // or binary_crossentropy, mse
  double label_smoothing = 0;
  double auxiliary_weight = 0.4;
  bool weighted = false;     // samples have weights, input `weight`; training only
  bool mixed = false;        // and second labels, inputs `other` and `other_share`; training only
  std::int64_t classes = 0;  // columns of the logits
  std::vector<std::string> class_names;  // as many as the data has; may be empty
  std::vector<float> class_weights;      // by class; empty: all 1
};

// Inputs: label i32 [N]; weight f32 [N]; other i32 [N], other_share f32 [N]. Results: correct i64
// [2] (first, first five), logits f32 [N,classes]. UsageError for a loss that is none or that
// cannot have weights or mixed labels.
TaskPtr make_classification(const ClassificationOptions& options);

}  // namespace plimsoll
