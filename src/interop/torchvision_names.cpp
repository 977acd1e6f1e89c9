#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "base/text.h"
#include "interop/torch_networks.h"

namespace plimsoll::interop {
namespace {

// A network is known by a layer that it has with this shape, and by one that deeper ones have.
struct KnownTorchvision {
  std::string_view network, preprocessing;
  std::string_view layer;
  std::array<std::int64_t, 4> shape;
  std::string_view absent;
};
// Inception and GoogLeNet of torchvision turn their input into what TensorFlow's want.
constexpr std::array kKnownTorchvisions = {
    KnownTorchvision{
        "resnet50_torch", "torch", "layer3.5.conv2", {256, 256, 3, 3}, "layer3.6.conv2"},
    KnownTorchvision{
        "inception_v3_torch", "tf", "Mixed_7c.branch_pool.conv", {192, 2048, 1, 1}, ""},
    KnownTorchvision{
        "mobilenet_v2_torch", "torch", "features.18.0", {1280, 320, 1, 1}, "features.19.0"},
    KnownTorchvision{"googlenet_torch", "tf", "inception5b.branch4.1.conv", {128, 832, 1, 1}, ""},
};

const Dims* find_shape(const ImportedFile& file, std::string_view layer) {
  for (const ImportedLayer& known : file.layers)
    if (known.name == layer) return &file.tensors->tensors()[known.weights.front().tensor].shape;
  return nullptr;
}

bool is_auxiliary(std::string_view layer) {
  return layer.starts_with("AuxLogits.") || layer.starts_with("aux1.") ||
         layer.starts_with("aux2.");
}

// timm's "blocks.2.1.conv_pwl" as torchvision's "features.5.conv.2".
std::optional<std::string> find_timm_mobilenet(std::string_view name) {
  if (name == "conv_stem") return "features.0.0";
  if (name == "bn1") return "features.0.1";
  if (name == "conv_head") return "features.18.0";
  if (name == "bn2") return "features.18.1";
  if (name == "classifier") return "classifier.1";
  const std::vector<std::string_view> parts = split(name, '.');
  if (parts.size() != 4 || parts[0] != "blocks") return std::nullopt;
  const auto stage = parse_integer(parts[1]), block = parse_integer(parts[2]);
  constexpr std::array<std::int64_t, 7> kBlocks = {1, 2, 3, 4, 3, 3, 1};
  if (!stage || !block || *stage < 0 || *stage >= 7 || *block < 0 ||
      *block >= kBlocks[static_cast<std::size_t>(*stage)])
    return std::nullopt;
  std::int64_t number = 1 + *block;
  for (std::int64_t s = 0; s < *stage; ++s) number += kBlocks[static_cast<std::size_t>(s)];
  struct Part {
    std::string_view theirs, ours;
  };
  // The first block widens nothing.
  constexpr std::array kFirst = {Part{"conv_dw", "0.0"}, Part{"bn1", "0.1"}, Part{"conv_pw", "1"},
                                 Part{"bn2", "2"}};
  constexpr std::array kOther = {Part{"conv_pw", "0.0"}, Part{"bn1", "0.1"},
                                 Part{"conv_dw", "1.0"}, Part{"bn2", "1.1"},
                                 Part{"conv_pwl", "2"},  Part{"bn3", "3"}};
  const std::span<const Part> table = *stage == 0 ? std::span<const Part>(kFirst) : kOther;
  for (const Part& part : table)
    if (part.theirs == parts[3])
      return "features." + std::to_string(number) + ".conv." + std::string(part.ours);
  return std::nullopt;
}

void rename_timm_mobilenet(ImportedFile& file) {
  const Dims* head = find_shape(file, "conv_head");
  const Dims* last = find_shape(file, "blocks.6.0.conv_pwl");
  if (head == nullptr || last == nullptr || *head != Dims{1280, 320, 1, 1} ||
      *last != Dims{320, 960, 1, 1} || find_shape(file, "blocks.3.3.conv_pwl") == nullptr ||
      find_shape(file, "blocks.6.0.se.conv_reduce") != nullptr)
    return;
  // EfficientNet has the same modules in another number of blocks.
  for (const ImportedLayer& layer : file.layers)
    if (!find_timm_mobilenet(layer.name)) return;
  for (ImportedLayer& layer : file.layers) layer.name = *find_timm_mobilenet(layer.name);
}

}  // namespace

void recognise_torchvision(ImportedFile& file) {
  rename_timm_mobilenet(file);
  for (const KnownTorchvision& known : kKnownTorchvisions) {
    const Dims* shape = find_shape(file, known.layer);
    if (shape == nullptr || !std::ranges::equal(*shape, known.shape)) continue;
    if (!known.absent.empty() && find_shape(file, known.absent) != nullptr) continue;
    file.network = known.network;
    file.preprocessing = known.preprocessing;
    for (const ImportedLayer& layer : file.layers)
      if (is_auxiliary(layer.name))
        for (const ImportedWeight& weight : layer.weights)
          file.others.push_back(file.tensors->tensors()[weight.tensor].name);
    std::erase_if(file.layers, [](const ImportedLayer& l) { return is_auxiliary(l.name); });
    return;
  }
}

}  // namespace plimsoll::interop
