#include "interop/detector_names.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text.h"

namespace plimsoll::interop {
namespace {

constexpr std::string_view kLevels[] = {"backbone.fpn.inner_blocks.", "backbone.fpn.layer_blocks."};

// What our BatchNorms add to a variance.
constexpr double kEpsilon = 1e-5;
// Columns of the published file: COCO's numbers of categories, 0 the background.
constexpr std::int64_t kCocoColumns = 91;
constexpr std::int64_t kMostNormChannels = 1 << 16;

// gamma / sqrt(variance) as gamma' / sqrt(variance + epsilon). The variance is left as it is, for
// it may be far smaller than the epsilon.
float with_epsilon(float gamma, float variance) {
  const double exact = static_cast<double>(variance);
  if (!(exact > 0)) return gamma;
  const double made = static_cast<double>(gamma) * std::sqrt((exact + kEpsilon) / exact);
  constexpr double kMost = std::numeric_limits<float>::max();
  return static_cast<float>(std::clamp(made, -kMost, kMost));
}

void change_gammas(const ImportedFile& file, ChangedTensors& changed) {
  for (const ImportedLayer& layer : file.layers) {
    const ImportedWeight* gamma = find_weight(layer, "gamma");
    const ImportedWeight* variance = find_weight(layer, "moving_variance");
    if (gamma == nullptr || variance == nullptr) continue;
    const Dims& shape = file.tensors->tensors()[gamma->tensor].shape;
    if (shape.size() == 1 && shape[0] <= kMostNormChannels &&
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

bool has_body(const ImportedFile& file, const DetectorBody& body) {
  const Dims* level = find_kernel(file, "backbone.fpn.layer_blocks.0.0");
  const Dims* shape = find_kernel(file, body.layer);
  if (level == nullptr || level->empty() || level->front() != body.width) return false;
  if (shape == nullptr || !std::ranges::equal(*shape, body.shape)) return false;
  return body.absent.empty() || find_layer(file, body.absent) == nullptr;
}

void rename_levels(ImportedFile& file) {
  for (ImportedLayer& layer : file.layers)
    for (const std::string_view level : kLevels)
      if (layer.name.starts_with(level) && parse_integer(layer.name.substr(level.size())))
        layer.name += ".0";
}

void take_in_epsilon(ImportedFile& file, std::int64_t columns, ChangedTensors& changed) {
  if (has_step_counts(file) || columns != kCocoColumns) return;
  change_gammas(file, changed);
  file.notes.emplace_back(
      "its BatchNorms are constants without an epsilon, as in torchvision's COCO weights; their "
      "gammas are told so that ours, with 1e-5, give the same");
}

}  // namespace plimsoll::interop
