#include "zoo/torch_bricks.h"
#include "zoo/zoo.h"

namespace plimsoll::zoo {
namespace {

// Halves at its 3x3 convolution, where Keras's does at the first 1x1.
ValueId bottleneck(nn::Builder& net, ValueId x, std::int64_t filters, std::int64_t stride,
                   const std::string& name, bool first) {
  const ValueId shortcut = first ? torch_conv_bn(net, x, {.filters = 4 * filters, .stride = stride},
                                                 name + "downsample.0", name + "downsample.1")
                                 : x;
  ValueId y = torch_conv_bn(net, x, {.filters = filters}, name + "conv1", name + "bn1");
  y = net.relu(y, name + "relu1");
  y = torch_conv_bn(net, y, {.filters = filters, .kernel = 3, .stride = stride}, name + "conv2",
                    name + "bn2");
  y = net.relu(y, name + "relu2");
  y = torch_conv_bn(net, y, {.filters = 4 * filters}, name + "conv3", name + "bn3");
  return net.relu(net.add({shortcut, y}, name + "add"), name + "relu");
}

}  // namespace

Heads resnet50_torch(nn::Builder& net, const Options& options) {
  ValueId x =
      torch_conv_bn(net, net.image(), {.filters = 64, .kernel = 7, .stride = 2}, "conv1", "bn1");
  x = net.relu(x, "relu");
  x = net.max_pool(x, 3, {.padding = nn::Padding::symmetric, .name = "maxpool"});
  struct Stage {
    std::int64_t filters;
    int blocks;
    std::int64_t stride;
  };
  int number = 0;
  for (const Stage& stage : {Stage{64, 3, 1}, {128, 4, 2}, {256, 6, 2}, {512, 3, 2}}) {
    const std::string name = "layer" + std::to_string(++number) + ".";
    for (int b = 0; b < stage.blocks; ++b)
      x = bottleneck(net, x, stage.filters, b == 0 ? stage.stride : 1,
                     name + std::to_string(b) + ".", b == 0);
  }
  x = net.global_average_pool(x, "avgpool");
  return {net.dense(x, options.classes, "fc")};
}

}  // namespace plimsoll::zoo
