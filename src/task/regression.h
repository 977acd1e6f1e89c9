// Numbers for every picture.
#pragma once

#include <string>
#include <vector>

#include "task/task.h"

namespace plimsoll {

struct RegressionOptions {
  double auxiliary_weight = 0.4;
  std::vector<std::string> names;  // of the numbers, as many as the network has outputs, or none
};

// The mean squared error. Inputs: targets f32 [N,numbers]. Results: error f64 [1] (the sum of
// absolute differences), logits f32 [N,numbers], which are the numbers themselves.
TaskPtr make_regression(const RegressionOptions& options);

}  // namespace plimsoll
