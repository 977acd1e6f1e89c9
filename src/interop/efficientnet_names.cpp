#include <array>
#include <map>
#include <optional>
#include <string_view>

#include "base/text.h"
#include "interop/torch_networks.h"

namespace plimsoll::interop {
namespace {

constexpr int kStages = 7;

struct Variant {
  std::string_view network;
  std::array<int, kStages> blocks;  // of each stage
  std::int64_t last_filters;        // of the last block: some are as deep as others and wider
};
constexpr std::array kVariants = {
    Variant{"efficientnet_lite0", {1, 2, 2, 3, 3, 4, 1}, 320},
    Variant{"efficientnet_lite1", {1, 3, 3, 4, 4, 5, 1}, 320},
    Variant{"efficientnet_lite2", {1, 3, 3, 4, 4, 5, 1}, 352},
};

// What the package says outside of blocks, and within one.
const std::map<std::string_view, std::string_view> kModules = {
    {"_conv_stem", "stem_conv"}, {"_bn0", "stem_bn"},    {"_conv_head", "top_conv"},
    {"_bn1", "top_bn"},          {"_fc", "predictions"},
};
const std::map<std::string_view, std::string_view> kBlockModules = {
    {"_expand_conv", "_expand_conv"},   {"_bn0", "_expand_bn"},
    {"_depthwise_conv", "_dwconv"},     {"_bn1", "_bn"},
    {"_project_conv", "_project_conv"}, {"_bn2", "_project_bn"},
};

// "_blocks.3._bn1" as 3 and "_bn1".
struct BlockModule {
  std::int64_t block;
  std::string_view module;
};
std::optional<BlockModule> find_block(std::string_view name) {
  const std::vector<std::string_view> parts = split(name, '.');
  if (parts.size() != 3 || parts[0] != "_blocks") return std::nullopt;
  const std::optional<std::int64_t> block = parse_integer(parts[1]);
  if (!block || *block < 0) return std::nullopt;
  return BlockModule{*block, parts[2]};
}

// The variant by the number of blocks and by what enters the head; null if it is none.
const Variant* find_variant(const ImportedFile& file) {
  std::int64_t last = -1;
  std::int64_t filters = 0;
  for (const ImportedLayer& layer : file.layers) {
    if (const auto block = find_block(layer.name)) last = std::max(last, block->block);
    const std::vector<std::int64_t>& shape =
        file.tensors->tensors()[layer.weights.front().tensor].shape;
    if (layer.name == "_conv_head" && shape.size() == 4) filters = shape[1];
  }
  for (const Variant& variant : kVariants) {
    std::int64_t blocks = 0;
    for (const int count : variant.blocks) blocks += count;
    if (blocks == last + 1 && filters == variant.last_filters) return &variant;
  }
  return nullptr;
}

// The fourth block of all may be the second of the third stage: "block3b".
std::string block_name(const Variant& variant, std::int64_t block) {
  int stage = 0;
  while (stage + 1 < kStages && block >= variant.blocks[static_cast<std::size_t>(stage)])
    block -= variant.blocks[static_cast<std::size_t>(stage++)];
  return "block" + std::to_string(stage + 1) + static_cast<char>('a' + block);
}

}  // namespace

void rename_efficientnet_lite(ImportedFile& file) {
  const Variant* variant = find_variant(file);
  if (variant == nullptr) return;
  for (ImportedLayer& layer : file.layers) {
    const auto block = find_block(layer.name);
    const auto& names = block ? kBlockModules : kModules;
    const auto found = names.find(block ? block->module : std::string_view(layer.name));
    if (found == names.end()) continue;
    std::string ours = block ? block_name(*variant, block->block) : "";
    layer.name = ours.append(found->second);
  }
  file.network = variant->network;
  // As they were trained: PyTorch's package says otherwise, and calls fewer daisies daisies.
  file.preprocessing = "tf";
}

}  // namespace plimsoll::interop
