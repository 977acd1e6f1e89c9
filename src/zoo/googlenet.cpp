#include "zoo/bricks.h"
#include "zoo/zoo.h"

namespace plimsoll::zoo {

Heads googlenet(nn::Builder& net, const Options& options) {
  const auto halve = [&](ValueId x, const char* name) {
    return net.max_pool(x, 3, {.padding = nn::Padding::same, .name = name});
  };
  ValueId x = conv_bn_relu(net, net.image(), 64, 7, "conv1_7x7", 2);
  x = halve(x, "pool1");
  x = conv_bn_relu(net, x, 64, 1, "conv2_reduce");
  x = conv_bn_relu(net, x, 192, 3, "conv2_3x3");
  x = halve(x, "pool2");
  x = inception_block(net, x, {64, 96, 128, 16, 32, 32}, "3a");
  x = inception_block(net, x, {128, 128, 192, 32, 96, 64}, "3b");
  x = halve(x, "pool3");
  x = inception_block(net, x, {192, 96, 208, 16, 48, 64}, "4a");
  x = inception_block(net, x, {160, 112, 224, 24, 64, 64}, "4b");
  x = inception_block(net, x, {128, 128, 256, 24, 64, 64}, "4c");
  x = inception_block(net, x, {112, 144, 288, 32, 64, 64}, "4d");
  x = inception_block(net, x, {256, 160, 320, 32, 128, 128}, "4e");
  x = halve(x, "pool4");
  x = inception_block(net, x, {256, 160, 320, 32, 128, 128}, "5a");
  x = inception_block(net, x, {384, 192, 384, 48, 128, 128}, "5b");
  x = net.global_average_pool(x, "avg_pool");
  x = net.dropout(x, options.dropout < 0 ? 0.4 : options.dropout);
  return {net.dense(x, options.classes, "predictions")};
}

}  // namespace plimsoll::zoo
