// What a RetinaNet says of every cell of its pyramid (Lin et al. 2017).
#pragma once

#include <string_view>

#include "nn/nn.h"

namespace plimsoll::zoo {

// Anchors of a cell: three sizes by three shapes.
inline constexpr std::int64_t kAnchorsPerCell = 9;

// Names of layers that say what a detector's are: those of the pyramid and of the heads begin with
// these, and one of the heads' tells classes apart.
inline constexpr std::string_view kPyramidPrefix = "backbone.fpn.";
inline constexpr std::string_view kHeadPrefix = "head.";
inline constexpr std::string_view kClassOutput = "head.classification_head.cls_logits";
// Bodies whose published weights are of a classifier without this prefix have it.
inline constexpr std::string_view kBodyPrefix = "backbone.body.";

struct DetectionHeadOptions {
  std::int64_t classes = 0;
  int depth = 4;  // convolutions of a tower, as wide as the pyramid
  nn::Start tower_start = {.kind = nn::Init::Kind::normal, .scale = 0.01};
};

// Two towers of 3x3 convolutions with biases and ReLUs, one that ends in class scores and one in
// deltas; all levels share them. At first every class of every anchor has a probability of 0.01.
// Layers are torchvision's: head.classification_head.conv.i.0 and cls_logits,
// head.regression_head.conv.i.0 and bbox_reg.
nn::Heads detection_heads(nn::Builder& net, const Values& levels,
                          const DetectionHeadOptions& options);

}  // namespace plimsoll::zoo
