// Layers at a network's beginning that only prepare pictures.
#pragma once

#include <string>

#include "interop/keras_config.h"

namespace plimsoll::interop {

// Takes Rescaling and Normalization layers at the input out of the model and returns what they do
// as a mode of preprocessing ("scale", "tf", "torch"); empty where there are none. UsageError that
// names the layer when no mode does the same, or when its numbers are among the weights.
std::string take_preprocessing(KerasModel& model);

}  // namespace plimsoll::interop
