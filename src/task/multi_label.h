// Any number of classes for every picture.
#pragma once

#include <string>
#include <vector>

#include "task/task.h"

namespace plimsoll {

struct MultiLabelOptions {
  double auxiliary_weight = 0.4;
  std::vector<std::string> class_names;  // may be empty
};

// Binary cross entropy of every class by itself. Inputs: targets f32 [N,classes], 1 where a picture
// has the class. Results: right i64 [2] (labels, pictures with all of them), logits f32
// [N,classes].
TaskPtr make_multi_label(const MultiLabelOptions& options);

}  // namespace plimsoll
