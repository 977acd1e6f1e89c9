// Networks described by Keras's JSON, of any version from 1.2 to 3.
#pragma once

#include <string>
#include <string_view>

#include "zoo/zoo.h"

namespace plimsoll::interop {

// A network that builds what the description says: Sequential or Functional, models inside models,
// layers called several times. Layers keep their names; those of a model inside have its name and a
// dot before theirs. A last softmax or sigmoid is left to the task. Another number of classes than
// the description's makes the last layer with weights that wide; a rate of dropout is the last
// Dropout's. Rescaling and Normalization at the input become the network's preprocessing. What the
// description says of training (trainable, initializers, regularizers) is not taken.
// UsageError that names `where` and every layer that cannot be, all at once: unknown classes,
// custom ones, Lambda, several inputs or outputs, channels_first. DataError for what is no
// description. Shapes that do not suit each other are found by build(), which names the layer.
zoo::Network make_network(std::string_view description, const std::string& where);

// The opposite: Keras 3's config.json of a network with these layers, as nn::in_keras_order gives
// them. Behind the main head a softmax or sigmoid (`ending`: its name; empty: none) is added; an
// auxiliary head is left out. Slashes in names, which Keras 3 does not take, become underlines.
std::string keras_description(const std::string& name, const std::vector<nn::Layer>& layers,
                              const std::string& ending);

}  // namespace plimsoll::interop
