// How weights follow their gradients.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tensor/attrs.h"

namespace plimsoll {

struct OptimizerOptions {
  std::string name = "sgd";  // sgd, rmsprop, adam, adamw
  double momentum = 0.9;     // sgd and rmsprop; rmsprop's own default is 0
  bool nesterov = false;
  double weight_decay = 0;
  double clip_norm = 0;  // 0: no limit
};

// The optimizer as an op of the graph.
struct OptimizerOp {
  std::string op;
  Attrs attrs;
  std::vector<std::string> slots;  // names of the tensors it keeps per weight
  bool needs_step = false;
};

std::vector<std::string> optimizer_names();

// Throws UsageError that offers the nearest name, or names the setting that makes no sense.
OptimizerOp optimizer_op(const OptimizerOptions& options);

}  // namespace plimsoll
