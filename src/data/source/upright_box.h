// A box in the frame of the picture as it is shown.
#pragma once

#include "data/codec/decode.h"
#include "data/source/source.h"

namespace plimsoll {

// Turns a box as the image is turned by its EXIF orientation, unless the annotation was made on the
// upright image: then its size, and not the stored one, is `annotated`. Where both sizes are the
// same, as in a square or upside-down picture, the box is taken to be in the stored frame.
Box upright_box(const Box& box, const ImageInfo& info, Size annotated);

}  // namespace plimsoll
