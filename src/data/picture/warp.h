// The affine part of augmentation: rotation, shift, shear and zoom in one map.
#pragma once

#include <cstdint>

#include "data/picture/augment.h"
#include "data/picture/picture.h"

namespace plimsoll {

// Where an output pixel comes from: x = xx * column + xy * row + x0, and y alike.
struct Affine {
  double xx = 1, xy = 0, x0 = 0;
  double yx = 0, yy = 1, y0 = 0;
};

// Keras's rotation - shift - shear - zoom about the centre of a picture of that size, with the
// flips of the draw after it.
Affine affine_of(const Draw& draw, Size size);

// Writes to `to` the picture `from`, both [height][width][channels] of that size, as the map has
// it; bilinear, with scipy's meaning of the fill modes.
void warp(const std::uint8_t* from, Size size, int channels, const Affine& map, FillMode fill,
          double cval, std::uint8_t* to);

}  // namespace plimsoll
