#include "interop/keras_padding.h"

#include <algorithm>

#include "base/error.h"
#include "nn/nn.h"

namespace plimsoll::interop {
namespace {

[[noreturn]] void refuse(const nn::Layer& layer, const std::string& word, const std::string& why) {
  throw UsageError({.where = "layer '" + layer.name + "' (" + layer.type + ")",
                    .got = "PyTorch's padding, '" + word + "', " + why,
                    .expected = "expected 'same', 'valid' or zeros, which Keras has words for",
                    .hint = "export to .onnx or .safetensors"});
}

nn::Size2 size_of(const nn::Layer& layer, const char* key) {
  const AttrValue* value = layer.config.find(key);
  if (value == nullptr) return 1;
  const Ints& both = std::get<Ints>(*value);
  return {both[0], both[1]};
}

// Zeros are the least that it makes.
bool is_rectifier(const nn::Layer& layer) {
  const AttrValue* kind = layer.config.find("activation");
  const auto* word = kind == nullptr ? nullptr : std::get_if<std::string>(kind);
  return layer.type == "ReLU" || (word != nullptr && (*word == "relu" || *word == "relu6"));
}

bool is_never_negative(const std::vector<nn::Layer>& layers, const nn::Layer& layer) {
  if (is_rectifier(layer)) return true;
  if (layer.type != "Concatenate" && layer.type != "MaxPooling2D") return false;
  return std::ranges::all_of(layer.calls.front().inputs, [&](const nn::Source& input) {
    return is_never_negative(layers, layers[input.layer]);
  });
}

}  // namespace

KerasPadding keras_padding(const std::vector<nn::Layer>& layers, const nn::Layer& layer) {
  const AttrValue* padding = layer.config.find("padding");
  const auto* word = padding == nullptr ? nullptr : std::get_if<std::string>(padding);
  if (word == nullptr) return {};
  if (*word == "same" || *word == "valid") return {*word, {}};
  if (layer.calls.size() > 1) refuse(layer, *word, "of a layer that is called several times");
  const nn::Source from = layer.calls.front().inputs.front();
  const Spec& image = layers[from.layer].calls[from.call].output_spec;
  const bool is_pool = layer.type.ends_with("Pooling2D");
  const nn::Size2 window = size_of(layer, is_pool ? "pool_size" : "kernel_size");
  const nn::Size2 strides = size_of(layer, "strides");
  const nn::Size2 dilation = size_of(layer, "dilation_rate");
  const auto cells = [&](nn::Padding kind) {
    return nn::padding_cells(kind, image, window, strides, dilation);
  };
  const Ints wanted =
      cells(*word == name_of(nn::Padding::ceil) ? nn::Padding::ceil : nn::Padding::symmetric);
  if (wanted == cells(nn::Padding::valid)) return {"valid", {}};
  if (wanted == cells(nn::Padding::same)) return {"same", {}};
  if (layer.type == "AveragePooling2D") refuse(layer, *word, "whose mean counts other cells");
  if (is_pool && !is_never_negative(layers, layers[from.layer]))
    refuse(layer, *word, "of a maximum over numbers that may be negative");
  return {"valid", wanted};
}

}  // namespace plimsoll::interop
