#include "zoo/zoo.h"

namespace plimsoll::zoo {
namespace {

struct Conv {
  std::int64_t filters = 0;
  nn::Size2 kernel = 1;
  nn::Size2 stride = 1;
};
// Convolution `name` without bias, with half a window of padding on every side, and BatchNorm
// `name`_bn.
ValueId conv_bn(nn::Builder& net, ValueId x, const Conv& options, const std::string& name) {
  x = net.conv2d(
      x, options.filters, options.kernel,
      {.stride = options.stride, .padding = nn::Padding::symmetric, .bias = false, .name = name});
  return net.batch_norm(x, {.momentum = 0.997, .epsilon = 1e-5, .name = name + "_bn"});
}

// Halves at its 3x3 convolution.
ValueId slim_bottleneck(nn::Builder& net, ValueId x, std::int64_t filters, std::int64_t stride,
                        const std::string& name, bool first) {
  ValueId shortcut = x;
  if (first)
    shortcut = conv_bn(net, x, {.filters = 4 * filters, .stride = stride}, name + "_shortcut");
  else if (stride > 1)
    shortcut = net.max_pool(x, 1, {.stride = stride, .name = name + "_shortcut"});
  ValueId y = conv_bn(net, x, {.filters = filters}, name + "_conv1");
  y = net.relu(y, name + "_relu1");
  y = conv_bn(net, y, {.filters = filters, .kernel = 3, .stride = stride}, name + "_conv2");
  y = net.relu(y, name + "_relu2");
  y = conv_bn(net, y, {.filters = 4 * filters}, name + "_conv3");
  return net.relu(net.add({shortcut, y}, name + "_add"), name + "_relu");
}

}  // namespace

// A block halves in its last unit, where Keras's and torchvision's do in their first; the last
// block does not.
Heads resnet_v1_50(nn::Builder& net, const Options& options) {
  ValueId x = conv_bn(net, net.image(), {.filters = 64, .kernel = 7, .stride = 2}, "conv1");
  x = net.relu(x, "conv1_relu");
  x = net.max_pool(x, 3, {.padding = nn::Padding::same, .name = "pool1"});
  struct Block {
    std::int64_t filters;
    int units;
    std::int64_t stride;
  };
  int number = 0;
  for (const Block& block : {Block{64, 3, 2}, {128, 4, 2}, {256, 6, 2}, {512, 3, 1}}) {
    const std::string name = "block" + std::to_string(++number) + "_unit_";
    for (int unit = 1; unit <= block.units; ++unit)
      x = slim_bottleneck(net, x, block.filters, unit == block.units ? block.stride : 1,
                          name + std::to_string(unit), unit == 1);
  }
  x = net.global_average_pool(x, "pool5");
  return {net.dense(x, options.classes, "logits")};
}

}  // namespace plimsoll::zoo
