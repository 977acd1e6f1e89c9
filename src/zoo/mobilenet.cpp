#include <string>

#include "zoo/zoo.h"

namespace plimsoll::zoo {
namespace {

using nn::Padding;

ValueId bn_relu6(nn::Builder& net, ValueId x, const std::string& name) {
  return net.activation(net.batch_norm(x, {.name = name + "_bn"}), "relu6", name + "_relu");
}

ValueId depthwise_block(nn::Builder& net, ValueId x, std::int64_t filters, std::int64_t stride,
                        int number) {
  const std::string k = std::to_string(number);
  if (stride == 2) x = net.zero_pad(x, 0, 0, 1, 1, "conv_pad_" + k);
  const Padding padding = stride == 1 ? Padding::same : Padding::valid;
  x = net.depthwise_conv2d(
      x, 3, {.stride = stride, .padding = padding, .bias = false, .name = "conv_dw_" + k});
  x = bn_relu6(net, x, "conv_dw_" + k);
  x = net.conv2d(x, filters, 1, {.bias = false, .name = "conv_pw_" + k});
  return bn_relu6(net, x, "conv_pw_" + k);
}

}  // namespace

Heads mobilenet(nn::Builder& net, const Options& options) {
  ValueId x = net.conv2d(net.image(), 32, 3, {.stride = 2, .bias = false, .name = "conv1"});
  x = bn_relu6(net, x, "conv1");

  struct Block {
    std::int64_t filters, stride;
  };
  int number = 0;
  for (const Block& block : {Block{64, 1},
                             {128, 2},
                             {128, 1},
                             {256, 2},
                             {256, 1},
                             {512, 2},
                             {512, 1},
                             {512, 1},
                             {512, 1},
                             {512, 1},
                             {512, 1},
                             {1024, 2},
                             {1024, 1}})
    x = depthwise_block(net, x, block.filters, block.stride, ++number);

  x = net.global_average_pool(x, "", true);
  x = net.dropout(x, options.dropout < 0 ? 1e-3 : options.dropout, "dropout");
  x = net.conv2d(x, options.classes, 1, {.name = "conv_preds"});
  return {net.squeeze(x, "reshape_2")};
}

}  // namespace plimsoll::zoo
