#include <string>

#include "zoo/zoo.h"

namespace plimsoll::zoo {
namespace {

using nn::Padding;

ValueId norm(nn::Builder& net, ValueId x, const std::string& name) {
  return net.batch_norm(x, {.momentum = 0.999, .name = name});
}

// Widens, filters depthwise, narrows; adds the input where the shape is the same.
ValueId keras_inverted_residual(nn::Builder& net, ValueId x, std::int64_t filters,
                                std::int64_t stride, std::int64_t expansion, int number) {
  const ValueId input = x;
  const std::int64_t channels = net.spec(x).shape[1];
  const std::string prefix =
      number > 0 ? "block_" + std::to_string(number) + "_" : "expanded_conv_";
  if (number > 0) {
    x = net.conv2d(x, expansion * channels, 1, {.bias = false, .name = prefix + "expand"});
    x = net.activation(norm(net, x, prefix + "expand_BN"), "relu6", prefix + "expand_relu");
  }
  if (stride == 2) {
    const std::int64_t top = net.spec(x).shape[2] % 2;
    const std::int64_t left = net.spec(x).shape[3] % 2;
    x = net.zero_pad(x, top, left, 1, 1, prefix + "pad");
  }
  const Padding padding = stride == 1 ? Padding::same : Padding::valid;
  x = net.depthwise_conv2d(
      x, 3, {.stride = stride, .padding = padding, .bias = false, .name = prefix + "depthwise"});
  x = net.activation(norm(net, x, prefix + "depthwise_BN"), "relu6", prefix + "depthwise_relu");
  x = net.conv2d(x, filters, 1, {.bias = false, .name = prefix + "project"});
  x = norm(net, x, prefix + "project_BN");
  return channels == filters && stride == 1 ? net.add({input, x}, prefix + "add") : x;
}

}  // namespace

Heads mobilenet_v2(nn::Builder& net, const Options& options) {
  ValueId x = net.conv2d(net.image(), 32, 3, {.stride = 2, .bias = false, .name = "Conv1"});
  x = net.activation(norm(net, x, "bn_Conv1"), "relu6", "Conv1_relu");

  struct Stage {
    std::int64_t filters, stride, expansion;
    int blocks;
  };
  int number = 0;
  for (const Stage& stage : {Stage{16, 1, 1, 1},
                             {24, 2, 6, 2},
                             {32, 2, 6, 3},
                             {64, 2, 6, 4},
                             {96, 1, 6, 3},
                             {160, 2, 6, 3},
                             {320, 1, 6, 1}})
    for (int b = 0; b < stage.blocks; ++b)
      x = keras_inverted_residual(net, x, stage.filters, b == 0 ? stage.stride : 1, stage.expansion,
                                  number++);

  x = net.conv2d(x, 1280, 1, {.bias = false, .name = "Conv_1"});
  x = net.activation(norm(net, x, "Conv_1_bn"), "relu6", "out_relu");
  x = net.global_average_pool(x);
  return {net.dense(x, options.classes, "predictions")};
}

}  // namespace plimsoll::zoo
