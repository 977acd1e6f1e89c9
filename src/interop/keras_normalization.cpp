// Keras's Normalization layers keep what they subtract and divide by among their weights.
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

#include "interop/keras_json.h"
#include "interop/keras_store.h"

namespace plimsoll::interop {
namespace {

using nlohmann::json;

constexpr std::size_t kMostNormalizedChannels = 16;

bool is_normalization(const ImportedLayer& layer) {
  return layer.weights.size() >= 2 && layer.weights[0].weight == "mean" &&
         layer.weights[1].weight == "variance";
}

// One number for every channel of a picture; nothing where it is something else.
std::optional<std::vector<float>> find_numbers(const TensorFile& file, std::size_t tensor) {
  const StoredTensor& stored = file.tensors()[tensor];
  if (stored.type != ElementType::f32 || stored.bytes() == 0 ||
      stored.bytes() > static_cast<std::int64_t>(kMostNormalizedChannels * sizeof(float)))
    return std::nullopt;
  alignas(8) std::array<std::byte, kMostNormalizedChannels * sizeof(float)> buffer{};
  std::vector<float> numbers;
  file.read(tensor, buffer, [&](std::span<const std::byte> piece) {
    const std::size_t before = numbers.size();
    numbers.resize(before + piece.size() / sizeof(float));
    std::memcpy(numbers.data() + before, piece.data(), piece.size());
  });
  return numbers;
}

// NOLINTNEXTLINE(misc-no-recursion): as deep as the text was found to be.
json* find_layer(json& description, const std::string& name) {
  if (description.is_object() && description.value("class_name", json()) == "Normalization" &&
      description.contains("config") && description["config"].is_object() &&
      description["config"].value("name", json()) == name)
    return &description["config"];
  if (!description.is_structured()) return nullptr;
  for (json& inner : description)
    if (json* found = find_layer(inner, name)) return found;
  return nullptr;
}

// Whether the description says now what the layer does.
bool describe(const ImportedFile& file, const ImportedLayer& layer, json& description) {
  json* config = find_layer(description, layer.name.substr(layer.name.rfind('.') + 1));
  const auto mean = find_numbers(*file.tensors, layer.weights[0].tensor);
  const auto variance = find_numbers(*file.tensors, layer.weights[1].tensor);
  if (config == nullptr || !mean || !variance) return false;
  (*config)["mean"] = *mean;
  (*config)["variance"] = *variance;
  return true;
}

}  // namespace

void describe_normalizations(ImportedFile& file) {
  if (std::ranges::none_of(file.layers, is_normalization)) return;
  json description;
  if (!file.description.empty())
    description = parse_keras_json(file.description, file.path.string());
  for (const ImportedLayer& layer : file.layers) {
    if (!is_normalization(layer) || describe(file, layer, description)) continue;
    for (const ImportedWeight& weight : layer.weights)
      file.others.push_back(file.tensors->tensors()[weight.tensor].name);
  }
  std::erase_if(file.layers, is_normalization);
  if (!file.description.empty())
    file.description = description.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace plimsoll::interop
