// Golden values of a network, made by tools/golden, and weights filled by the same rule.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "train/trainer.h"

namespace plimsoll::tests {

// Reads tests/golden/<network>.json; throws if it is not there.
nlohmann::json load_golden(const std::string& network);

// A trainer of the golden file's network, batch and image, dropout off, not yet open.
Trainer golden_trainer(const nlohmann::json& golden, const OptimizerOptions& optimizer,
                       const TrainerOptions& base = {});

// Fills weights, slots (zero) and both batches by the golden rule.
void fill_by_rule(Trainer& trainer, const nlohmann::json& golden);

// Images and labels alone: a step may overwrite its inputs.
void fill_batch_by_rule(Trainer& trainer, const nlohmann::json& golden);

}  // namespace plimsoll::tests
