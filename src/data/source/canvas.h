// The size of the canvas that suits the pictures of a set.
#pragma once

#include <span>

#include "data/picture/picture.h"
#include "data/source/source.h"

namespace plimsoll {

// Of the canvases whose sides are multiples of 32, the one that comes nearest to the pictures'
// shape and to the area of `network`, the size a network is made for. The shape is the median of
// width to height; of an even number, the mean (of logarithms) of the middle two, so that as many
// pictures upright as lying make a square; at most 4 to 1. Pictures without a size do not count;
// where none has one, it is `network` itself, its sides rounded to multiples of 32.
Size canvas_for(std::span<const Size> pictures, Size network);

// By the frames of the boxes, which are the stored pictures' as a rule: those that EXIF turns count
// as they lie in their files.
Size canvas_for(const Source& source, Size network);

}  // namespace plimsoll
