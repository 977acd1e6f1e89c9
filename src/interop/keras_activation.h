// Keras's activations in our words.
#pragma once

#include <string>

#include "interop/keras_json.h"

namespace plimsoll::interop {

struct KerasCurve {
  std::string kind;    // as in nn::Builder::activation, "softmax", or empty: none
  double slope = 0.3;  // of leaky_relu
};

// Of a layer of class `type`: ReLU, LeakyReLU and Softmax are activations themselves, others have a
// setting `activation`: a word, or a layer or function with settings of its own.
KerasCurve read_activation(const std::string& type, const KerasSettings& settings);
KerasCurve read_activation(const KerasSettings& settings);

}  // namespace plimsoll::interop
