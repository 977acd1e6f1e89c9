#include <array>
#include <string_view>

#include "interop/detector_names.h"
#include "interop/torch_networks.h"
#include "zoo/region_heads.h"

namespace plimsoll::interop {
namespace {

// Our network is known by its body and what its first dense layer makes.
struct KnownFasterRcnn {
  std::string_view network, preprocessing;
  DetectorBody body;
  std::int64_t hidden;
};
constexpr std::array kKnownFasterRcnns = {
    KnownFasterRcnn{"fasterrcnn_r50", "torch", kResnet50Body, 1024},
    KnownFasterRcnn{"fasterrcnn_mini", "tf", kMiniBody, 256},
};

const KnownFasterRcnn* find_known_fasterrcnn(const ImportedFile& file) {
  const Dims* dense = find_kernel(file, zoo::kRegionDense);
  if (dense == nullptr || dense->empty()) return nullptr;
  for (const KnownFasterRcnn& known : kKnownFasterRcnns)
    if (has_body(file, known.body) && dense->front() == known.hidden) return &known;
  return nullptr;
}

// Before torchvision 0.14 the first stage's convolution had no modules around it. What a dense
// layer reads of a region lies in torchvision's order.
void tell_in_our_words(ImportedFile& file) {
  rename_levels(file);
  for (ImportedLayer& layer : file.layers) {
    if (layer.name == "rpn.head.conv") layer.name += ".0.0";
    if (layer.name != zoo::kRegionDense) continue;
    for (ImportedWeight& weight : layer.weights)
      if (weight.axes == Axes::out_in) weight.axes = Axes::out_bins;
  }
}

}  // namespace

void recognise_fasterrcnn(ImportedFile& file) {
  const Dims* scores = find_kernel(file, zoo::kRegionClassOutput);
  if (scores == nullptr || scores->empty()) return;
  if (find_layer(file, "rpn.head.conv.1.0") != nullptr) {
    file.notes.emplace_back(
        "this is Faster R-CNN with convolutions in its second stage (torchvision's v2), which is "
        "not built here");
    return;
  }
  tell_in_our_words(file);
  const KnownFasterRcnn* known = find_known_fasterrcnn(file);
  if (known == nullptr) return;
  file.network = known->network;
  file.preprocessing = known->preprocessing;
  if (known->network != "fasterrcnn_r50") return;
  const auto changed = std::make_shared<ChangedTensors>(file.tensors);
  take_in_epsilon(file, scores->front(), *changed);
  file.tensors = changed;
}

}  // namespace plimsoll::interop
