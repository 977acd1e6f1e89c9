// Networks and weights as files that Keras 3 loads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "nn/layer.h"
#include "step/weights.h"

namespace plimsoll::interop {

enum class KerasForm : std::uint8_t {
  archive,     // .keras: keras.models.load_model
  hdf5_model,  // .h5, the older form: the same
  weights,     // .weights.h5: model.load_weights
};

// Writes weights as f32, a piece at a time; the file appears complete or not at all. `description`
// is the network as Keras's JSON, with its layers in Keras's order; those of models inside are
// called "model.layer" in `layers`. `weights` has every parameter of `layers`. UsageError if the
// description lacks a layer with weights; DataError if the file cannot be written.
void write_keras(const std::filesystem::path& path, KerasForm form, const std::string& description,
                 const std::vector<nn::Layer>& layers, const std::vector<NamedTensor>& weights);

}  // namespace plimsoll::interop
