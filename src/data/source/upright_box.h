// A box in the frame of the picture as it is shown.
#pragma once

#include "data/codec/decode.h"
#include "data/source/source.h"

namespace plimsoll {

// In pixels of the upright picture, whose size is `image`. A box is turned as the picture is by its
// EXIF orientation, unless the annotation was made on the upright picture: then its size, and not
// the stored one, is `annotated`. Where both sizes are the same, as in a square or upside-down
// picture, the box is taken to be in the stored frame. Where `annotated` is neither, the picture
// was scaled since, and the stored frame with it; zeros are the stored frame. Whole pixels stay
// exact unless it was. An inverted box stays one.
Box upright_box(const Box& box, Size annotated, Size image, int orientation);
Box upright_box(const Box& box, const ImageInfo& info, Size annotated);

}  // namespace plimsoll
