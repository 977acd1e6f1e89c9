// From annotated boxes to those that a network is shown, and to those that it is measured by.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "data/picture/augment.h"
#include "data/picture/placement.h"
#include "data/source/source.h"

namespace plimsoll {

// Writes the boxes of a sample that training shows (is_trained_on: `difficult` ones are) to `to`,
// in their order, and returns how many there are; `to` has room for all of them. `crop` is the part
// of the upright picture that was cut out, or all of it; `draw` tells flips. A box is turned
// upright, clipped to the crop, scaled by extent / crop in f32 as torchvision does, and mirrored
// within the extent. Of a picture that was cut, a box stays if its centre did and if both of its
// sides are a pixel of the canvas at least. What has no area left on the canvas goes. Does not
// allocate.
std::int64_t place_boxes(const Source& source, std::int64_t sample,
                         const CanvasPlacement& placement, const Rect& crop, const Draw& draw,
                         std::span<PlacedBox> to);

// All boxes of a sample as they are annotated, crowds, difficult and unusable ones too (is_usable
// with placement.image tells), in pixels of the upright picture: the truth for evaluation. The
// second appends nothing: `to` has room for Index::max_truths, and the number of boxes is returned.
std::vector<Box> upright_truth(const Source& source, std::int64_t sample,
                               const CanvasPlacement& placement);
std::int64_t upright_truth(const Source& source, std::int64_t sample,
                           const CanvasPlacement& placement, std::span<Box> to);

}  // namespace plimsoll
