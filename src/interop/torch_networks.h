// Networks of PyTorch packages that are ours under other names; for the files of interop/ only.
#pragma once

#include "interop/imported_file.h"

namespace plimsoll::interop {

// The package efficientnet_lite_pytorch: "_blocks.3._bn1" is our "block3a_bn". Sets network and
// preprocessing. Leaves files alone that are not of it.
void rename_efficientnet_lite(ImportedFile& file);

// torchvision's and timm's resnet50, inception_v3, mobilenet_v2 and googlenet, whose *_torch
// networks have torchvision's names. Sets network and preprocessing; auxiliary classifiers become
// others. Leaves files alone that are of none.
void recognise_torchvision(ImportedFile& file);

// torchvision's RetinaNet, retinanet_r50, and our smaller ones of the same parts. Older names of
// modules become today's; the class scores lose the column of the background, which they do not
// have here; the published BatchNorms, made without an epsilon, are told so that with ours they
// give the same. Sets network, preprocessing and notes. Leaves files alone that are of none.
void recognise_retinanet(ImportedFile& file);

// torchvision's Faster R-CNN, fasterrcnn_r50, and our small one of the same parts, likewise: the
// background is a column here, too, and what a dense layer reads of a region is told in its order.
void recognise_fasterrcnn(ImportedFile& file);

}  // namespace plimsoll::interop
