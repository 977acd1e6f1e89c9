// Feature pyramids (Lin et al. 2016) as torchvision has them.
#pragma once

#include "nn/nn.h"
#include "zoo/bodies.h"

namespace plimsoll::zoo {

// What is made of the coarsest stage's level.
enum class PyramidTop : std::uint8_t {
  none,
  convolved,  // levels of strides 64 and 128
  pooled,     // every second cell: a level of stride 64
};

struct PyramidOptions {
  std::int64_t width = 256;
  bool from_4 = false;  // a level of stride 4, too
  PyramidTop top = PyramidTop::none;
};

// Values of strides 8, 16, 32 and perhaps 4, 64 and 128, finest first: 1x1 convolutions of the
// stages, each with what is above it added, then a 3x3 convolution. Layers are called
// backbone.fpn.inner_blocks.i.0, layer_blocks.i.0 and extra_blocks.p6, p7; they have biases, and
// neither norm nor activation. UsageError if 32 does not divide the sides of the image.
Values pyramid(nn::Builder& net, const Stages& stages, const PyramidOptions& options);

}  // namespace plimsoll::zoo
