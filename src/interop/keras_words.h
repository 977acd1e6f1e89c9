// What Keras calls weights, and where it puts them; for the files of interop/ only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "interop/imported_file.h"

namespace plimsoll::interop {

// Models inside models are followed so far.
inline constexpr int kMaxModelsDeep = 16;

// A layer as a description has it.
struct KerasOutline {
  std::string name;
  std::string class_name;  // "Conv2D"
  bool is_trainable = true;
  bool has_gamma = true;             // of a BatchNormalization
  std::vector<KerasOutline> layers;  // of a model inside the model

  bool is_model() const;
};

// The layers of a description (`to_json`, config.json), those of models inside too, as far as it
// can be read: it is not this file's work to complain of it.
KerasOutline parse_keras_layers(std::string_view description);

// "SeparableConv2D" as groups of Keras 3 are called: "separable_conv2d".
std::string keras_group_name(std::string_view class_name);

// The last word of a weight's name in a file of Keras 1 to 3: "conv2d_1/kernel:0" and
// "convolution2d_1_W:0" are "kernel".
std::string keras_weight_word(std::string_view name);
// "conv2d_1/kernel:0" without the ":0".
std::string_view without_number(std::string_view name);

// The words of weights that are only counted, by the class's group name and their shapes.
std::vector<std::string> keras_weight_words(std::string_view group, const KerasOutline* layer,
                                            const std::vector<std::size_t>& ranks);

// Statistics and counters are not trained.
bool is_trained(std::string_view weight);

// `group`: keras_group_name of the layer's class; empty: not known.
Axes keras_axes(std::string_view weight, std::size_t rank, std::string_view group);

}  // namespace plimsoll::interop
