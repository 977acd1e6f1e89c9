// Layers of Keras as calls of nn::Builder.
#pragma once

#include <functional>

#include "interop/keras_config.h"
#include "nn/nn.h"

namespace plimsoll::interop {

// Adds one call of the layer to a network. UsageError when its inputs do not suit it.
using LayerMaker = std::function<ValueId(nn::Builder& net, const Values& inputs)>;

// UsageError that names the layer when it is of a class that we do not run, or set to what we do
// not.
LayerMaker make_layer(const KerasLayer& layer);

// Its activation in our words: of an Activation layer, or the one that layers with weights have of
// their own; "softmax" included, empty for linear. UsageError for one that we do not know.
std::string activation_of(const KerasLayer& layer);

// The word of the config that says how wide its output is: units or filters, as this version of
// Keras calls it. Empty for layers that have no such word.
std::string width_word(const KerasLayer& layer);

// Whether it has weights, as far as its class tells.
bool has_weights(const KerasLayer& layer);

}  // namespace plimsoll::interop
