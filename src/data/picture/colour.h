// The part of augmentation that changes levels and moves nothing.
#pragma once

#include <cstdint>

#include "data/picture/augment.h"
#include "data/picture/picture.h"

namespace plimsoll {

// Applies channel shift, brightness, contrast, saturation, hue and cutout of the draw, in this
// order, to [height][width][channels]. Shift and brightness are Keras's (ImageDataGenerator, by
// Pillow), contrast, saturation and hue tf.image's; the last two leave grey pictures alone.
void change_colours(std::uint8_t* hwc, Size size, int channels, const Draw& draw) noexcept;

}  // namespace plimsoll
