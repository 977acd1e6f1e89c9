#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>

#include "base/text.h"
#include "interop/changed_tensors.h"
#include "interop/torch_networks.h"
#include "zoo/detection_heads.h"

namespace plimsoll::interop {
namespace {

using Dims = std::vector<std::int64_t>;

// Our network is known by a layer of its body.
struct Known {
  std::string_view network, preprocessing;
  std::string_view layer;
  std::array<std::int64_t, 4> shape;
  std::string_view absent;  // what deeper ones have
  std::int64_t width;       // of the pyramid
  std::string_view last;    // of a tower's convolutions
};
constexpr std::array kKnown = {
    Known{"retinanet_r50",
          "torch",
          "backbone.body.layer3.5.conv2",
          {256, 256, 3, 3},
          "backbone.body.layer3.6.conv2",
          256,
          "3"},
    Known{"retinanet_mini", "tf", "backbone.body.layer4.1.conv2", {128, 128, 3, 3}, "", 64, "1"},
    Known{"retinanet_lite0", "tf", "block7a_project_conv", {320, 1152, 1, 1}, "", 64, "1"},
};

constexpr std::string_view kTowers[] = {"head.classification_head.conv.",
                                        "head.regression_head.conv."};
constexpr std::string_view kLevels[] = {"backbone.fpn.inner_blocks.", "backbone.fpn.layer_blocks."};

// What our BatchNorms add to a variance.
constexpr double kEpsilon = 1e-5;
// Columns of the published file: COCO's numbers of categories, 0 the background.
constexpr std::int64_t kCocoColumns = 91;
constexpr std::int64_t kMostChannels = 1 << 16;

const ImportedLayer* find_layer(const ImportedFile& file, std::string_view name) {
  for (const ImportedLayer& layer : file.layers)
    if (layer.name == name) return &layer;
  return nullptr;
}

const ImportedWeight* find_weight(const ImportedLayer& layer, std::string_view word) {
  for (const ImportedWeight& weight : layer.weights)
    if (weight.weight == word) return &weight;
  return nullptr;
}

const Dims* find_kernel(const ImportedFile& file, std::string_view name) {
  const ImportedLayer* layer = find_layer(file, name);
  const ImportedWeight* kernel = layer == nullptr ? nullptr : find_weight(*layer, "kernel");
  return kernel == nullptr ? nullptr : &file.tensors->tensors()[kernel->tensor].shape;
}

// Before torchvision 0.14 a tower was convolutions and ReLUs in turn, "conv.2", where today it is
// pairs of them, "conv.1.0", and a level had no module around its convolution.
void rename_old(ImportedFile& file) {
  for (ImportedLayer& layer : file.layers) {
    for (const std::string_view tower : kTowers)
      if (layer.name.starts_with(tower))
        if (const auto number = parse_integer(layer.name.substr(tower.size())))
          layer.name = std::string(tower) + std::to_string(*number / 2) + ".0";
    for (const std::string_view level : kLevels)
      if (layer.name.starts_with(level) && parse_integer(layer.name.substr(level.size())))
        layer.name += ".0";
  }
}

const Known* find_known(const ImportedFile& file) {
  const Dims* level = find_kernel(file, "backbone.fpn.layer_blocks.0.0");
  if (level == nullptr || level->empty()) return nullptr;
  for (const Known& known : kKnown) {
    const Dims* shape = find_kernel(file, known.layer);
    if (shape == nullptr || !std::ranges::equal(*shape, known.shape)) continue;
    if (!known.absent.empty() && find_layer(file, known.absent) != nullptr) continue;
    const std::string last = std::string(kTowers[0]) + std::string(known.last) + ".0";
    if (level->front() == known.width && find_layer(file, last) != nullptr) return &known;
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

// gamma / sqrt(variance) as gamma' / sqrt(variance + epsilon). The variance is left as it is, for
// it may be far smaller than the epsilon.
float with_epsilon(float gamma, float variance) {
  const double exact = static_cast<double>(variance);
  if (!(exact > 0)) return gamma;
  const double made = static_cast<double>(gamma) * std::sqrt((exact + kEpsilon) / exact);
  constexpr double kMost = std::numeric_limits<float>::max();
  return static_cast<float>(std::clamp(made, -kMost, kMost));
}

void take_epsilon_in(const ImportedFile& file, ChangedTensors& changed) {
  for (const ImportedLayer& layer : file.layers) {
    const ImportedWeight* gamma = find_weight(layer, "gamma");
    const ImportedWeight* variance = find_weight(layer, "moving_variance");
    if (gamma == nullptr || variance == nullptr) continue;
    const Dims& shape = file.tensors->tensors()[gamma->tensor].shape;
    if (shape.size() == 1 && shape[0] <= kMostChannels &&
        shape == file.tensors->tensors()[variance->tensor].shape)
      changed.combine(gamma->tensor, variance->tensor, with_epsilon);
  }
}

bool has_step_counts(const ImportedFile& file) {
  return std::any_of(file.others.begin(), file.others.end(), [](const std::string& name) {
    return name.ends_with(".num_batches_tracked");
  });
}

}  // namespace

void recognise_retinanet(ImportedFile& file) {
  const ImportedLayer* output = find_layer(file, zoo::kClassOutput);
  if (output == nullptr) return;
  if (find_layer(file, std::string(kTowers[0]) + "0.1") != nullptr) {
    file.notes.push_back(
        "this is RetinaNet with GroupNorm in its heads (torchvision's v2), which is not built "
        "here");
    return;
  }
  rename_old(file);
  const Known* known = find_known(file);
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
  // FrozenBatchNorm2d counts no steps. What was trained with torchvision's COCO weights has no
  // epsilon; what began from a classifier's has, and not their number of classes.
  if (known->network == "retinanet_r50" && !has_step_counts(file) && columns == kCocoColumns) {
    take_epsilon_in(file, *changed);
    file.notes.emplace_back(
        "its BatchNorms are constants without an epsilon, as in torchvision's COCO weights; their "
        "gammas are told so that ours, with 1e-5, give the same");
  }
  file.tensors = changed;
}

}  // namespace plimsoll::interop
