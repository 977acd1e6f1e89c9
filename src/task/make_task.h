// The task that a loss and data ask for.
#pragma once

#include <string>
#include <vector>

#include "task/task.h"

namespace plimsoll {

struct LossOptions {
  std::string name = "categorical_crossentropy";  // or binary_crossentropy, mse
  double label_smoothing = 0;
  double auxiliary_weight = 0.4;
  bool weighted = false;  // samples have weights; training only
  bool mixed = false;     // and targets of two pictures each; training only
};

// What of the data a task depends on.
struct TaskData {
  std::int64_t outputs = 0;               // of the network
  std::vector<std::string> names;         // of classes; may be empty
  std::vector<float> class_weights = {};  // by class; empty: all 1
};

// UsageError for a loss that is none, or that such data cannot have.
TaskPtr make_task(const LossOptions& loss, const TaskData& data);

}  // namespace plimsoll
