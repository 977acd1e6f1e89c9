// What other frameworks would hold for the same network: an estimate, to compare with.
#pragma once

#include <cstdint>

#include "step/step_graph.h"

namespace plimsoll {

struct FrameworkEstimate {
  std::int64_t saved = 0;    // activations saved for backward
  std::int64_t pytorch = 0;  // whole process, eager
  std::int64_t keras = 0;    // whole process, TensorFlow's graph mode
};

// A framework that saves every op's operands: inputs of convolutions and BatchNorms, outputs of
// activations, copies made by concat, 64-bit positions of max-pool. `slots` is the number of
// tensors the optimizer keeps per weight.
FrameworkEstimate estimate_frameworks(const OpTable& ops, const nn::Input& input,
                                      const NetworkFactory& network, std::int64_t slots);

}  // namespace plimsoll
