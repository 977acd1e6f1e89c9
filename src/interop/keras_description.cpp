#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "interop/detector_layers.h"
#include "interop/keras_network.h"
#include "interop/keras_padding.h"

namespace plimsoll::interop {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kZeros = "_zeros";  // behind a layer's name: of the zeros before it

template <std::size_t count>
bool is_one_of(std::string_view word, const std::array<std::string_view, count>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Classes whose default of data_format is a setting of the user's machine.
bool has_data_format(std::string_view type) { return type.ends_with("2D") || type == "Flatten"; }

bool takes_list(std::string_view type) {
  static constexpr std::array<std::string_view, 4> kJoins = {"Add", "Multiply", "Concatenate",
                                                             "CustomScaleLayer"};
  return is_one_of(type, kJoins);
}

// Keras 3 has no slash in a name.
std::string keras_name(std::string name) {
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}

Json keras_value(const std::string& key, const AttrValue& value) {
  static constexpr std::array<std::string_view, 4> kFlags = {"use_bias", "scale", "center",
                                                             "keepdims"};
  if (const auto* integer = std::get_if<std::int64_t>(&value))
    return is_one_of(key, kFlags) ? Json(*integer != 0) : Json(*integer);
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (const auto* word = std::get_if<std::string>(&value)) return *word == "swish" ? "silu" : *word;
  const Ints& ints = std::get<Ints>(value);
  // Ours are top, left, bottom, right.
  if ((key == "padding" || key == "cropping") && ints.size() == 4)
    return {{ints[0], ints[2]}, {ints[1], ints[3]}};
  Json list = ints;
  if (key == "noise_shape") list[0] = nullptr;
  return list;
}

Json batch_shape(const Spec& spec) {
  const Shape& s = spec.shape;
  if (s.rank() == 4) return {nullptr, s[2], s[3], s[1]};
  return {nullptr, s[1]};
}

Json config_of(const nn::Layer& layer, const std::string& padding) {
  Json config = {{"name", keras_name(layer.name)}};
  if (layer.type == "InputLayer") {
    config["batch_shape"] = batch_shape(layer.output_spec());
    config["dtype"] = "float32";
    return config;
  }
  config["trainable"] = true;
  config["dtype"] = "float32";
  if (has_data_format(layer.type)) config["data_format"] = "channels_last";
  if (layer.type == "BatchNormalization") config["axis"] = -1;
  for (const auto& [key, value] : layer.config.entries()) config[key] = keras_value(key, value);
  if (!padding.empty()) config["padding"] = padding;
  return config;
}

Json tensor(const std::vector<nn::Layer>& layers, nn::Source source) {
  const nn::Layer& layer = layers[source.layer];
  return {{"class_name", "__keras_tensor__"},
          {"config",
           {{"shape", batch_shape(layer.calls[source.call].output_spec)},
            {"dtype", "float32"},
            {"keras_history", {keras_name(layer.name), source.call, 0}}}}};
}

Json node(const Json& tensors, bool as_list) {
  Json args = Json::array();
  if (as_list)
    args.push_back(tensors);
  else
    args = tensors;
  return {{"args", args}, {"kwargs", Json::object()}};
}

Json described(const std::string& type, const Json& config, const Json& nodes) {
  const bool custom = type == "CustomScaleLayer";
  return {{"module", custom ? "keras.src.applications.inception_resnet_v2" : "keras.layers"},
          {"class_name", type},
          {"config", config},
          {"registered_name", custom ? Json(type) : Json(nullptr)},
          {"name", config["name"]},
          {"inbound_nodes", nodes}};
}

// The zeros around what `layer` reads, as a layer of their own.
Json zeros_before(const std::vector<nn::Layer>& layers, const nn::Layer& layer, const Ints& zeros) {
  const Json config = {{"name", keras_name(layer.name) + kZeros},
                       {"trainable", true},
                       {"dtype", "float32"},
                       {"data_format", "channels_last"},
                       {"padding", keras_value("padding", zeros)}};
  const Json inputs = Json::array({tensor(layers, layer.calls.front().inputs.front())});
  return described("ZeroPadding2D", config, Json::array({node(inputs, false)}));
}

Json behind_zeros(const std::vector<nn::Layer>& layers, const nn::Layer& layer, const Ints& zeros) {
  const nn::Source from = layer.calls.front().inputs.front();
  Json padded = tensor(layers, from);
  Json& shape = padded["config"]["shape"];
  shape[1] = shape[1].get<std::int64_t>() + zeros[0] + zeros[2];
  shape[2] = shape[2].get<std::int64_t>() + zeros[1] + zeros[3];
  padded["config"]["keras_history"] = {keras_name(layer.name) + kZeros, 0, 0};
  return Json::array({node(Json::array({padded}), false)});
}

// Appends the layer, behind one that lays zeros around what it reads where Keras has no word.
void describe(const std::vector<nn::Layer>& layers, const nn::Layer& layer, Json& list) {
  const KerasPadding padding = keras_padding(layers, layer);
  if (!padding.zeros.empty()) {
    list.push_back(zeros_before(layers, layer, padding.zeros));
    list.push_back(described(layer.type, config_of(layer, padding.word),
                             behind_zeros(layers, layer, padding.zeros)));
    return;
  }
  Json nodes = Json::array();
  for (const nn::LayerCall& call : layer.calls) {
    Json tensors = Json::array();
    for (const nn::Source& input : call.inputs) tensors.push_back(tensor(layers, input));
    if (!tensors.empty()) nodes.push_back(node(tensors, takes_list(layer.type)));
  }
  list.push_back(described(layer.type, config_of(layer, padding.word), nodes));
}

// The first call that nobody reads: an auxiliary head comes behind the main one.
nn::Source output_of(const std::vector<nn::Layer>& layers) {
  std::set<std::pair<std::size_t, std::size_t>> read;
  for (const nn::Layer& layer : layers)
    for (const nn::LayerCall& call : layer.calls)
      for (const nn::Source& input : call.inputs) read.emplace(input.layer, input.call);
  for (std::size_t layer = 0; layer < layers.size(); ++layer)
    for (std::size_t call = 0; call < layers[layer].calls.size(); ++call)
      if (!read.contains({layer, call})) return {layer, call};
  bug("layers without an end");
}

}  // namespace

std::string keras_description(const std::string& name, const std::vector<nn::Layer>& layers,
                              const std::string& ending) {
  if (std::any_of(layers.begin(), layers.end(),
                  [](const nn::Layer& layer) { return is_class_output(layer.name); }))
    throw UsageError(
        {.where = name,
         .got = "a detector, which ends in scores and deltas",
         .expected = "expected a network with one output, to be written for Keras",
         .hint = "detectors are written as .safetensors, those of one stage as .onnx, too"});
  const std::vector<nn::Layer> main = nn::in_keras_order(layers, {output_of(layers)});
  const nn::Source last = output_of(main);
  Json list = Json::array();
  std::set<std::string> names;
  for (const nn::Layer& layer : main) {
    describe(main, layer, list);
    names.insert(keras_name(layer.name));
  }
  Json output = {keras_name(main[last.layer].name), last.call, 0};
  if (!ending.empty()) {
    std::string chosen = ending;
    while (names.contains(chosen)) chosen += "_";
    const Json config = {
        {"name", chosen}, {"trainable", true}, {"dtype", "float32"}, {"activation", ending}};
    list.push_back(described("Activation", config,
                             Json::array({node(Json::array({tensor(main, last)}), false)})));
    output = {chosen, 0, 0};
  }
  const auto input = std::find_if(
      main.begin(), main.end(), [](const nn::Layer& layer) { return layer.type == "InputLayer"; });
  expect(input != main.end(), "a network has an input");
  const Json model = {{"module", "keras.src.models.functional"},
                      {"class_name", "Functional"},
                      {"config",
                       {{"name", name},
                        {"trainable", true},
                        {"layers", list},
                        {"input_layers", Json::array({{keras_name(input->name), 0, 0}})},
                        {"output_layers", Json::array({output})}}},
                      {"registered_name", "Functional"}};
  return model.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace plimsoll::interop
