// A network as Keras's JSON tells it, in plain structs: every dialect gives the same ones.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/attrs.h"

namespace plimsoll::interop {

struct KerasLayer {
  std::string name;  // behind those of the models around it and dots
  std::string type;  // its class: "Conv2D", also where Keras 1 said Convolution2D
  nlohmann::json config;
  std::string place;  // for messages: "model.json: layer 'a' (Conv2D)"
};

// Makes value k + 1, where k is its place among the calls. Value 0 is the image.
struct KerasCall {
  std::size_t layer = 0;
  std::vector<std::size_t> inputs;  // values
};

struct KerasModel {
  std::string name;
  Ints input;                      // [H, W, C]; -1 where the description leaves it open
  std::vector<KerasLayer> layers;  // without InputLayers and models: those are opened up
  std::vector<KerasCall> calls;    // what the output needs, each behind those it reads
  std::size_t output = 0;          // a value
};

// Keras 1.2 to 3: `to_json`, config.json of an archive, TensorFlow.js's model.json. DataError when
// it is none of these or refers to what is not there; UsageError for several inputs or outputs, an
// input that is no image, layers in a circle, or more layers than any network has.
KerasModel parse_keras_config(std::string_view text, const std::string& where);

}  // namespace plimsoll::interop
