#include "zoo/bodies.h"
#include "zoo/torch_bricks.h"
#include "zoo/zoo.h"

namespace plimsoll::zoo {
namespace {

// Halves at its 3x3 convolution, where Keras's does at the first 1x1.
ValueId torch_bottleneck(nn::Builder& net, ValueId x, std::int64_t filters, std::int64_t stride,
                         const std::string& name, bool first) {
  const ValueId shortcut = first ? resnet_conv_bn(net, x, 4 * filters, 1, stride,
                                                  name + "downsample.0", name + "downsample.1")
                                 : x;
  ValueId y = resnet_conv_bn(net, x, filters, 1, 1, name + "conv1", name + "bn1");
  y = net.relu(y, name + "relu1");
  y = resnet_conv_bn(net, y, filters, 3, stride, name + "conv2", name + "bn2");
  y = net.relu(y, name + "relu2");
  y = resnet_conv_bn(net, y, 4 * filters, 1, 1, name + "conv3", name + "bn3");
  return net.relu(net.add({shortcut, y}, name + "add"), name + "relu");
}

}  // namespace

Stages resnet50_torch_body(nn::Builder& net, const std::string& prefix) {
  ValueId x = resnet_conv_bn(net, net.image(), 64, 7, 2, prefix + "conv1", prefix + "bn1");
  x = net.relu(x, prefix + "relu");
  x = net.max_pool(x, 3, {.padding = nn::Padding::symmetric, .name = prefix + "maxpool"});
  struct Stage {
    std::int64_t filters;
    int blocks;
    std::int64_t stride;
  };
  Values stages;
  for (const Stage& stage : {Stage{64, 3, 1}, {128, 4, 2}, {256, 6, 2}, {512, 3, 2}}) {
    const std::string name = prefix + "layer" + std::to_string(stages.size() + 1) + ".";
    for (int b = 0; b < stage.blocks; ++b)
      x = torch_bottleneck(net, x, stage.filters, b == 0 ? stage.stride : 1,
                           name + std::to_string(b) + ".", b == 0);
    stages.push_back(x);
  }
  return {stages[0], stages[1], stages[2], stages[3]};
}

Heads resnet50_torch(nn::Builder& net, const Options& options) {
  const ValueId x = net.global_average_pool(resnet50_torch_body(net, "").c5, "avgpool");
  return {net.dense(x, options.classes, "fc")};
}

}  // namespace plimsoll::zoo
