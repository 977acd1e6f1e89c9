#include <string>

#include "zoo/zoo.h"

namespace plimsoll::zoo {
namespace {

using nn::Padding;

ValueId conv_bn(nn::Builder& net, ValueId x, std::int64_t filters, nn::Size2 kernel,
                nn::Size2 stride, const std::string& name) {
  x = net.conv2d(x, filters, kernel, {.stride = stride, .name = name + "_conv"});
  return net.batch_norm(x, {.epsilon = 1.001e-5, .name = name + "_bn"});
}

ValueId keras_bottleneck(nn::Builder& net, ValueId x, std::int64_t filters, std::int64_t stride,
                         const std::string& name, bool first) {
  const ValueId shortcut = first ? conv_bn(net, x, 4 * filters, 1, stride, name + "_0") : x;
  ValueId y = net.relu(conv_bn(net, x, filters, 1, stride, name + "_1"), name + "_1_relu");
  y = net.relu(conv_bn(net, y, filters, 3, 1, name + "_2"), name + "_2_relu");
  y = conv_bn(net, y, 4 * filters, 1, 1, name + "_3");
  return net.relu(net.add({shortcut, y}, name + "_add"), name + "_out");
}

}  // namespace

Heads resnet50(nn::Builder& net, const Options& options) {
  ValueId x = net.zero_pad(net.image(), 3, 3, 3, 3, "conv1_pad");
  x = net.conv2d(x, 64, 7, {.stride = 2, .padding = Padding::valid, .name = "conv1_conv"});
  x = net.relu(net.batch_norm(x, {.epsilon = 1.001e-5, .name = "conv1_bn"}), "conv1_relu");
  x = net.max_pool(net.zero_pad(x, 1, 1, 1, 1, "pool1_pad"), 3, {.name = "pool1_pool"});

  struct Stage {
    const char* name;
    std::int64_t filters;
    int blocks;
    std::int64_t stride;
  };
  for (const Stage& stage :
       {Stage{"conv2", 64, 3, 1}, {"conv3", 128, 4, 2}, {"conv4", 256, 6, 2}, {"conv5", 512, 3, 2}})
    for (int b = 1; b <= stage.blocks; ++b)
      x = keras_bottleneck(net, x, stage.filters, b == 1 ? stage.stride : 1,
                           std::string(stage.name) + "_block" + std::to_string(b), b == 1);

  x = net.global_average_pool(x, "avg_pool");
  return {net.dense(x, options.classes, "predictions")};
}

}  // namespace plimsoll::zoo
