// Looks into a step: which layer went wrong, which are dead.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "step/trainer.h"

namespace plimsoll {

// A batch as train_batch() is given it.
struct StepCall {
  std::int64_t batch = 0;
  std::int64_t step = 0;
  std::int64_t sample = 0;
  const Trainer::FillPart& fill;
};

// Runs the step again, without its updates, and names the first layer that makes a value which is
// not finite: "conv2d_3 (conv2d, forward)". Nothing if all are finite this time.
std::optional<std::string> find_not_finite(Trainer& trainer, const StepCall& call);

// Layers of the step that look ill, for people: those whose ReLUs are zero for the whole batch in
// most channels, and those with enormous values. Largest value first in each kind.
struct LayerReport {
  std::vector<std::string> dead;
  std::vector<std::string> exploding;
  std::string largest;  // "conv2d_3: values up to 4.2e+06"
};
LayerReport look_at_layers(Trainer& trainer, const StepCall& call);

}  // namespace plimsoll
