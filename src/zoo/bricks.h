// Groups of layers that several networks are built from.
#pragma once

#include <string>

#include "nn/nn.h"

namespace plimsoll::zoo {

// Filters of the branches: 1x1 | reduce, 3x3 | reduce, 5x5 | pool projection.
struct InceptionWidths {
  std::int64_t one;
  std::int64_t three_reduce, three;
  std::int64_t five_reduce, five;
  std::int64_t pool;
};

// conv without bias, BatchNorm `name`_bn, relu.
ValueId conv_bn_relu(nn::Builder& net, ValueId x, std::int64_t filters, nn::Size2 kernel,
                     const std::string& name, nn::Size2 stride = 1);

// Separable 3x3 convolution without bias, BatchNorm `name`_bn.
ValueId separable_bn(nn::Builder& net, ValueId x, std::int64_t filters, const std::string& name);

// The classic Inception block: four branches side by side, joined.
ValueId inception_block(nn::Builder& net, ValueId x, const InceptionWidths& widths,
                        const std::string& name);

}  // namespace plimsoll::zoo
