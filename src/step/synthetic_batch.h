// A batch of noise, for measuring steps without data.
#pragma once

#include "step/trainer.h"

namespace plimsoll {

// Fills the inputs of a training batch, the same every time.
void fill_synthetic_batch(const Trainer& trainer, std::int64_t batch);
// The same of a part of one, for Trainer::FillPart.
void fill_synthetic_part(const Trainer& trainer, const StepTensors& inputs, std::int64_t count);

}  // namespace plimsoll
