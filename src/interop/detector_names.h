// What files of torchvision's detectors have in common; for the files of interop/ only.
#pragma once

#include <array>
#include <string_view>

#include "interop/changed_tensors.h"
#include "interop/imported_file.h"

namespace plimsoll::interop {

// Null if there is none.
const ImportedLayer* find_layer(const ImportedFile& file, std::string_view name);
const ImportedWeight* find_weight(const ImportedLayer& layer, std::string_view word);
const Dims* find_kernel(const ImportedFile& file, std::string_view layer);

// A body and its pyramid, known by a layer.
struct DetectorBody {
  std::string_view layer;
  std::array<std::int64_t, 4> shape;
  std::string_view absent;  // what deeper ones have
  std::int64_t width;       // of the pyramid
};
inline constexpr DetectorBody kResnet50Body{.layer = "backbone.body.layer3.5.conv2",
                                            .shape = {256, 256, 3, 3},
                                            .absent = "backbone.body.layer3.6.conv2",
                                            .width = 256};
inline constexpr DetectorBody kMiniBody{
    .layer = "backbone.body.layer4.1.conv2", .shape = {128, 128, 3, 3}, .absent = "", .width = 64};
bool has_body(const ImportedFile& file, const DetectorBody& body);

// Before torchvision 0.14 a level of a pyramid had no module around its convolution.
void rename_levels(ImportedFile& file);

// FrozenBatchNorm2d counts no steps. What was trained with torchvision's COCO weights has no
// epsilon; what began from a classifier's has, and not their number of columns. Of the former,
// gammas become what gives the same with our epsilon, and a note says so.
void take_in_epsilon(ImportedFile& file, std::int64_t columns, ChangedTensors& changed);

}  // namespace plimsoll::interop
