#include "interop/keras_config.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "interop/keras_json.h"
#include "interop/keras_nodes.h"

namespace plimsoll::interop {
namespace {

using nlohmann::json;

// Layers counted once for every model that holds them and every time that is called: a model may
// call one twice that calls one twice.
constexpr std::size_t kMostLayers = 20000;
constexpr std::size_t kLongestName = 200;

// Names of layers become names of weights, in files and on command lines.
bool is_name(std::string_view name) {
  for (const char c : name) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!letter && std::string_view("_/:.-").find(c) == std::string_view::npos) return false;
  }
  return !name.empty() && name.size() <= kLongestName;
}

constexpr const char* kImages = "expected images, [batch, height, width, channels]";

// "[?, 16]": -1 is what the description leaves open.
std::string shape_text(const Ints& shape) {
  std::string text;
  for (const std::int64_t size : shape)
    text += (text.empty() ? "" : ", ") + (size < 0 ? "?" : std::to_string(size));
  return "[" + text + "]";
}

std::string alias(const std::string& type) {
  static const std::map<std::string, std::string, std::less<>> kKeras1 = {
      {"Convolution2D", "Conv2D"},
      {"SeparableConvolution2D", "SeparableConv2D"},
      {"DepthwiseConvolution2D", "DepthwiseConv2D"},
      {"MaxPool2D", "MaxPooling2D"},
      {"AvgPool2D", "AveragePooling2D"},
      {"GlobalAvgPool2D", "GlobalAveragePooling2D"},
      {"GlobalMaxPool2D", "GlobalMaxPooling2D"},
      {"BatchNormalizationV1", "BatchNormalization"},
      {"BatchNormalizationV2", "BatchNormalization"}};
  const auto found = kKeras1.find(type);
  return found == kKeras1.end() ? type : found->second;
}

class ModelReader {
 public:
  explicit ModelReader(const std::string& where) : where_(where) {}

  KerasModel read(const json& description) {
    const json& model = unwrapped(description);
    model_.name = model_name(model);
    model_.output = open(model, "", 0);
    if (input_.empty())
      throw UsageError({.where = where_,
                        .got = "the description does not say its input",
                        .expected = kImages,
                        .hint = "call the model once, or give its first layer an input_shape, "
                                "before it is saved"});
    if (input_.size() != 4 || std::ranges::find(input_, 0) != input_.end())
      throw UsageError({.where = where_,
                        .got = "its input has shape " + shape_text(input_),
                        .expected = kImages});
    model_.input = Ints(input_.begin() + 1, input_.end());
    keep_what_is_needed();
    return std::move(model_);
  }

 private:
  // What TensorFlow.js and HDF5 files put around it.
  static const json& unwrapped(const json& description) {
    const json* at = &description;
    for (const char* key : {"modelTopology", "model_config"})
      if (at->is_object() && at->contains(key)) at = &(*at)[key];
    return *at;
  }

  [[noreturn]] void fail(const std::string& place, const std::string& got) const {
    throw DataError({.where = where_ + (place.empty() ? "" : ": layer '" + place + "'"),
                     .got = got,
                     .expected = "expected Keras's description of a network"});
  }

  static const json* find(const json& object, const char* key) {
    if (!object.is_object()) return nullptr;
    const auto found = object.find(key);
    return found == object.end() || found->is_null() ? nullptr : &*found;
  }

  static std::string text_of(const json* value) {
    return value != nullptr && value->is_string() ? value->get<std::string>() : "";
  }

  static std::string type_of(const json& layer) { return text_of(find(layer, "class_name")); }

  static bool is_model(const json& layer) {
    const std::string type = type_of(layer);
    return type == "Functional" || type == "Model" || type == "Sequential";
  }

  static const json& config_of(const json& layer) {
    static const json kNone = json::object();
    const json* config = find(layer, "config");
    return config == nullptr ? kNone : *config;
  }

  static std::string name_of(const json& layer) {
    const std::string outer = text_of(find(layer, "name"));
    return outer.empty() ? text_of(find(config_of(layer), "name")) : outer;
  }

  static std::string model_name(const json& model) {
    const std::string name = name_of(model);
    if (is_name(name)) return name;
    return type_of(model) == "Sequential" ? "sequential" : "model";  // as Keras calls them
  }

  const json& layers_of(const json& model, const std::string& prefix) const {
    if (!is_model(model))
      fail(prefix, type_of(model).empty() ? "it describes no model"
                                          : "it describes a '" + type_of(model) + "'");
    const json& config = config_of(model);
    const json* layers = config.is_array() ? &config : find(config, "layers");
    if (layers == nullptr || !layers->is_array() || layers->empty())
      fail(prefix, "the model has no list of layers");
    return *layers;
  }

  // The value that the model makes of `input`.
  std::size_t open(const json& model, const std::string& prefix, std::size_t input) {
    const json& layers = layers_of(model, prefix);
    spent_ += layers.size();
    if (spent_ > kMostLayers)
      throw UsageError(
          {.where = where_,
           .got = "the network has more than " + std::to_string(kMostLayers) + " layers",
           .expected = "expected fewer"});
    return type_of(model) == "Sequential" ? open_sequential(model, layers, prefix, input)
                                          : open_functional(model, layers, prefix, input);
  }

  std::size_t open_sequential(const json& model, const json& layers, const std::string& prefix,
                              std::size_t value) {
    if (const json* build = find(model, "build_config")) learn_input(*build, {"input_shape"});
    learn_input(config_of(model), {"build_input_shape"});
    for (const json& layer : layers) {
      learn_input(config_of(layer), {"batch_shape", "batch_input_shape"});
      if (type_of(layer) != "InputLayer") value = call(layer, prefix, {value});
    }
    return value;
  }

  std::size_t open_functional(const json& model, const json& layers, const std::string& prefix,
                              std::size_t input) {
    std::vector<NodeLayer> described;
    for (const json& layer : layers)
      described.push_back({name_of(layer), find(layer, "inbound_nodes"), is_model(layer)});
    const NodeOrder order = order_nodes(
        described, find(config_of(model), "input_layers"), find(config_of(model), "output_layers"),
        where_ + (prefix.empty() ? "" : ": model '" + prefix + "'"));
    std::vector<std::size_t> values(order.nodes.size());
    for (std::size_t n = 0; n < order.nodes.size(); ++n) {
      const OrderedNode& node = order.nodes[n];
      const json& layer = layers[node.layer];
      if (type_of(layer) == "InputLayer") {
        learn_input(config_of(layer), {"batch_shape", "batch_input_shape"});
        values[n] = input;
        continue;
      }
      std::vector<std::size_t> inputs;
      for (const std::size_t from : node.inputs) inputs.push_back(values[from]);
      values[n] = call(layer, prefix, inputs);
    }
    return values[order.output];
  }

  std::size_t call(const json& layer, const std::string& prefix,
                   const std::vector<std::size_t>& inputs) {
    const std::string name = name_of(layer);
    if (!is_name(name))
      fail(prefix + name,
           "a layer has no name, or one with signs other than letters, digits and _/:.-");
    if (is_model(layer)) {
      if (inputs.size() != 1) fail(prefix + name, "a model is called with several inputs");
      return open(layer, prefix + name + ".", inputs[0]);
    }
    if (inputs.empty()) fail(prefix + name, "it is called with no input");
    model_.calls.push_back({layer_number(layer, prefix + name), inputs});
    if (model_.calls.size() > kMostLayers) fail(prefix + name, "layers are called too often");
    return model_.calls.size();
  }

  std::size_t layer_number(const json& layer, const std::string& name) {
    const auto [found, is_new] = numbers_.emplace(name, Known{&layer, model_.layers.size()});
    if (found->second.described != &layer) fail(name, "two layers have this name");
    if (is_new) {
      const std::string type = alias(type_of(layer));
      model_.layers.push_back({.name = name,
                               .type = type,
                               .config = config_of(layer),
                               .place = where_ + ": layer '" + name + "' (" + type + ")"});
    }
    return found->second.number;
  }

  // The first layer or model that says what it reads is the network's beginning.
  void learn_input(const json& config, KerasSettings::Words words) {
    const KerasSettings settings(config, where_);
    if (!input_.empty() || !settings.has(words)) return;
    input_ = settings.shape(words);
  }

  void keep_what_is_needed() {
    std::vector<bool> needed(model_.calls.size() + 1, false);
    needed[model_.output] = true;
    for (std::size_t call = model_.calls.size(); call-- > 0;)
      if (needed[call + 1])
        for (const std::size_t input : model_.calls[call].inputs) needed[input] = true;
    std::vector<std::size_t> moved(needed.size(), 0);
    std::vector<KerasCall> kept;
    for (std::size_t call = 0; call < model_.calls.size(); ++call) {
      if (!needed[call + 1]) continue;
      kept.push_back(std::move(model_.calls[call]));
      for (std::size_t& input : kept.back().inputs) input = moved[input];
      moved[call + 1] = kept.size();
    }
    model_.calls = std::move(kept);
    model_.output = moved[model_.output];
  }

  struct Known {
    const json* described;
    std::size_t number;
  };

  const std::string& where_;
  KerasModel model_;
  Ints input_;  // with the batch in front
  std::map<std::string, Known> numbers_;
  std::size_t spent_ = 0;
};

}  // namespace

KerasModel parse_keras_config(std::string_view text, const std::string& where) {
  const json description = parse_keras_json(text, where);
  return ModelReader(where).read(description);
}

}  // namespace plimsoll::interop
