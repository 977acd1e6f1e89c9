// A batch of noise, for measuring steps without data.
#pragma once

#include "step/trainer.h"

namespace plimsoll {

// Fills the inputs of a training batch, the same every time.
void fill_synthetic_batch(const Trainer& trainer, std::int64_t batch);

}  // namespace plimsoll
