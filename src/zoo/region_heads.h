// What a Faster R-CNN says of its pyramid, and then of regions of it (Ren et al. 2015, Lin et al.
// 2016).
#pragma once

#include <string_view>

#include "nn/nn.h"

namespace plimsoll::zoo {

// Anchors of a cell of the first stage: one size by three shapes.
inline constexpr std::int64_t kRegionAnchorsPerCell = 3;

// Names of layers that say what a detector of two stages is: those of its heads begin with these,
// and two of them tell classes apart.
inline constexpr std::string_view kFirstStagePrefix = "rpn.";
inline constexpr std::string_view kSecondStagePrefix = "roi_heads.";
inline constexpr std::string_view kRegionClassOutput = "roi_heads.box_predictor.cls_score";
inline constexpr std::string_view kRegionBoxOutput = "roi_heads.box_predictor.bbox_pred";
// The layer that reads what lies under a box, bin by bin.
inline constexpr std::string_view kRegionDense = "roi_heads.box_head.fc6";
inline constexpr std::int64_t kRegionBins = 7;  // in each direction

struct RegionHeadOptions {
  std::int64_t classes = 0;
  std::int64_t hidden = 1024;  // units of the two dense layers
  nn::RegionOptions regions = {};
  nn::Start tower_start = {.kind = nn::Init::Kind::normal, .scale = 0.01};
  // Of the dense layers; the last two have starts of their own.
  nn::Start dense_start = {.kind = nn::Init::Kind::torch_uniform};
  nn::Start output_start = {.kind = nn::Init::Kind::torch_uniform};
  nn::Start bias_start = {.kind = nn::Init::Kind::torch_uniform};
};

// A 3x3 convolution with ReLU as wide as the pyramid, which all levels share, then a score and four
// deltas of each anchor; two dense layers over 7x7 bins of each region, read from the levels up to
// stride 32, then scores of background and classes and four deltas of each. `levels` begin at
// stride 4. Layers are torchvision's: rpn.head.conv.0.0, cls_logits and bbox_pred,
// roi_heads.box_head.fc6 and fc7, roi_heads.box_predictor.cls_score and bbox_pred.
nn::Heads region_heads(nn::Builder& net, const Values& levels, const RegionHeadOptions& options);

}  // namespace plimsoll::zoo
