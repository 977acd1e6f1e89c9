// Golden values of a network, made by tools/golden, and weights filled by the same rule.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "step/trainer.h"

namespace plimsoll::tests {

// Reads tests/golden/<network>.json; throws if it is not there.
nlohmann::json load_golden(const std::string& network);

// What r, in [-1, 1), becomes for the weight of that name.
float rule_value(const std::string& name, const Shape& shape, double beta_mean, double r);

// The label of sample n.
std::int32_t rule_label(std::uint64_t n, std::uint64_t classes);

// A trainer of the golden file's network, batch and image, dropout off, not yet open.
Trainer golden_trainer(const nlohmann::json& golden, const OptimizerOptions& optimizer,
                       const TrainerOptions& base = {});

// Fills weights by the golden rule and zeroes the slots.
void fill_by_rule(Trainer& trainer, const nlohmann::json& golden);

// Images and labels of the next step. The tapes of both phases share memory, so it is done right
// before it.
void fill_batch_by_rule(Trainer& trainer, const nlohmann::json& golden, Purpose purpose);
// Of a part of the batch, from sample `first` on.
void fill_part_by_rule(const StepTensors& inputs, const nlohmann::json& golden, std::int64_t first);

}  // namespace plimsoll::tests
