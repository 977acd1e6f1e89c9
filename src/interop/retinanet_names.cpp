#include <array>
#include <string_view>

#include "base/text.h"
#include "interop/detector_names.h"
#include "interop/torch_networks.h"
#include "zoo/detection_heads.h"

namespace plimsoll::interop {
namespace {

// Our network is known by its body and its towers.
struct KnownRetinanet {
  std::string_view network, preprocessing;
  DetectorBody body;
  std::string_view last;  // of a tower's convolutions
};
constexpr std::array kKnownRetinanets = {
    KnownRetinanet{"retinanet_r50", "torch", kResnet50Body, "3"},
    KnownRetinanet{"retinanet_mini", "tf", kMiniBody, "1"},
    KnownRetinanet{
        "retinanet_lite0",
        "tf",
        {.layer = "block7a_project_conv", .shape = {320, 1152, 1, 1}, .absent = "", .width = 64},
        "1"},
};

constexpr std::string_view kTowers[] = {"head.classification_head.conv.",
                                        "head.regression_head.conv."};

// Before torchvision 0.14 a tower was convolutions and ReLUs in turn, "conv.2", where today it is
// pairs of them, "conv.1.0".
void rename_towers(ImportedFile& file) {
  for (ImportedLayer& layer : file.layers)
    for (const std::string_view tower : kTowers)
      if (layer.name.starts_with(tower))
        if (const auto number = parse_integer(layer.name.substr(tower.size())))
          layer.name = std::string(tower) + std::to_string(*number / 2) + ".0";
}

const KnownRetinanet* find_known_retinanet(const ImportedFile& file) {
  for (const KnownRetinanet& known : kKnownRetinanets) {
    const std::string last = std::string(kTowers[0]) + std::string(known.last) + ".0";
    if (has_body(file, known.body) && find_layer(file, last) != nullptr) return &known;
  }
  return nullptr;
}

// The columns of an anchor's class scores in the file; 0 if they are not what they should be.
std::int64_t columns_of(const ImportedFile& file, const ImportedLayer& output) {
  for (const ImportedWeight& weight : output.weights) {
    const Dims& shape = file.tensors->tensors()[weight.tensor].shape;
    if (shape.empty() || shape[0] % zoo::kAnchorsPerCell != 0) return 0;
    return shape[0] / zoo::kAnchorsPerCell;
  }
  return 0;
}

}  // namespace

void recognise_retinanet(ImportedFile& file) {
  const ImportedLayer* output = find_layer(file, zoo::kClassOutput);
  if (output == nullptr) return;
  if (find_layer(file, std::string(kTowers[0]) + "0.1") != nullptr) {
    file.notes.emplace_back(
        "this is RetinaNet with GroupNorm in its heads (torchvision's v2), which is not built "
        "here");
    return;
  }
  rename_towers(file);
  rename_levels(file);
  const KnownRetinanet* known = find_known_retinanet(file);
  if (known == nullptr) return;
  file.network = known->network;
  file.preprocessing = known->preprocessing;

  const std::int64_t columns = columns_of(file, *output);
  if (columns < 2) return;
  const auto changed = std::make_shared<ChangedTensors>(file.tensors);
  for (const ImportedWeight& weight : output->weights) {
    const Dims& shape = file.tensors->tensors()[weight.tensor].shape;
    if (!shape.empty() && shape[0] == columns * zoo::kAnchorsPerCell)
      changed->leave_out_rows(weight.tensor, columns);
  }
  file.notes.push_back("column 0 of the class scores, the background, is left out: " +
                       std::to_string(columns - 1) + " classes");
  if (known->network == "retinanet_r50") take_in_epsilon(file, columns, *changed);
  file.tensors = changed;
}

}  // namespace plimsoll::interop
