#include "interop/keras_words.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "interop/keras_json.h"
#include "interop/keras_outline.h"

namespace plimsoll::interop {
namespace {

using nlohmann::json;

bool flag_at(const json& object, const char* key) {
  if (!object.is_object()) return true;
  const auto found = object.find(key);
  return found == object.end() || !found->is_boolean() || found->get<bool>();
}

// NOLINTNEXTLINE(misc-no-recursion): models inside models, to a depth.
KerasOutline layer_of(const json& description, int depth) {
  KerasOutline layer;
  layer.class_name = text_at(description, "class_name");
  const json none;
  const auto found = description.is_object() ? description.find("config") : description.end();
  const json& config = description.is_object() && found != description.end() ? *found : none;
  layer.name = text_at(config, "name");
  if (layer.name.empty()) layer.name = text_at(description, "name");
  layer.is_trainable = flag_at(config, "trainable");
  layer.has_gamma = flag_at(config, "scale");
  if (!layer.is_model() || depth > kMaxModelsDeep) return layer;
  // Sequential's config was a list until 2.2.2.
  const json* layers = config.is_array() ? &config : nullptr;
  if (config.is_object() && config.contains("layers")) layers = &config["layers"];
  if (layers == nullptr || !layers->is_array()) return layer;
  for (const json& inner : *layers) {
    layer.layers.push_back(layer_of(inner, depth + 1));
    if (!layer.is_trainable) layer.layers.back().is_trainable = false;
  }
  return layer;
}

// What Keras 1 wrote behind the layer's name.
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kWordsOfKeras1 = {{
    {"_W", "kernel"},
    {"_b", "bias"},
    {"_gamma", "gamma"},
    {"_beta", "beta"},
    {"_running_mean", "moving_mean"},
    {"_running_std", "moving_variance"},
}};

}  // namespace

bool KerasOutline::is_model() const {
  return class_name == "Sequential" || class_name == "Functional" || class_name == "Model";
}

KerasOutline parse_keras_layers(std::string_view description) {
  const json parsed = parse_keras_outline(description);
  return parsed.is_discarded() ? KerasOutline{} : layer_of(parsed, 0);
}

std::string keras_group_name(std::string_view class_name) {
  const auto is_upper = [](char c) { return std::isupper(static_cast<unsigned char>(c)) != 0; };
  const auto is_lower = [](char c) { return std::islower(static_cast<unsigned char>(c)) != 0; };
  std::string name;
  for (std::size_t i = 0; i < class_name.size(); ++i) {
    const char c = class_name[i];
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_') continue;
    const bool begins_word = i + 1 < class_name.size() && is_lower(class_name[i + 1]);
    if (i > 0 && is_upper(c) && (begins_word || is_lower(class_name[i - 1]))) name += '_';
    name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return name;
}

std::string_view without_number(std::string_view name) {
  const std::size_t colon = name.rfind(':');
  return colon == std::string_view::npos ? name : name.substr(0, colon);
}

std::string keras_weight_word(std::string_view name) {
  name = without_number(name);
  name = name.substr(name.rfind('/') + 1);
  for (const auto& [ending, word] : kWordsOfKeras1)
    if (name.size() > ending.size() && name.ends_with(ending)) return std::string(word);
  return std::string(name);
}

std::vector<std::string> keras_weight_words(std::string_view group, const KerasOutline* layer,
                                            const std::vector<std::size_t>& ranks) {
  std::vector<std::string> words;
  if (group == "batch_normalization") {
    // Without one of them: InceptionV3's have no gamma, and few have no beta.
    const bool has_gamma = layer != nullptr ? layer->has_gamma : ranks.size() > 3;
    if (ranks.size() > 3 || (ranks.size() == 3 && has_gamma)) words.emplace_back("gamma");
    if (ranks.size() > 3 || (ranks.size() == 3 && !has_gamma)) words.emplace_back("beta");
    words.insert(words.end(), {"moving_mean", "moving_variance"});
  } else if (group == "separable_conv2d") {
    words = {"depthwise_kernel", "pointwise_kernel", "bias"};
  } else if (group == "normalization") {
    words = {"mean", "variance", "count"};
  } else if (group == "layer_normalization" || group == "group_normalization") {
    words = {"gamma", "beta"};
  } else if (!ranks.empty() && ranks[0] >= 2) {
    words = {"kernel", "bias"};
  }
  words.resize(std::min(words.size(), ranks.size()));
  while (words.size() < ranks.size()) words.push_back(std::to_string(words.size()));
  return words;
}

bool is_trained(std::string_view weight) {
  constexpr std::array<std::string_view, 8> kNot = {
      "moving_mean", "moving_variance",      "mean", "variance", "count",
      "seed",        "seed_generator_state", "state"};
  for (const std::string_view word : kNot)
    if (weight == word) return false;
  return true;
}

Axes keras_axes(std::string_view weight, std::size_t rank, std::string_view group) {
  if (rank != 4) return Axes::ours;
  if (weight == "depthwise_kernel") return Axes::hwcm;
  if (weight != "kernel" && weight != "pointwise_kernel") return Axes::ours;
  return weight == "kernel" && group == "depthwise_conv2d" ? Axes::hwcm : Axes::hwio;
}

}  // namespace plimsoll::interop
