#include "zoo/bricks.h"
#include "zoo/zoo.h"

namespace plimsoll::zoo {

Heads inception_mini(nn::Builder& net, const Options& options) {
  net.set_batch_norm_momentum(0.9);
  const auto halve = [&](ValueId x, const char* name) {
    return net.max_pool(x, 3, {.padding = nn::Padding::same, .name = name});
  };
  ValueId x = conv_bn_relu(net, net.image(), 32, 3, "conv1");
  x = halve(x, "pool1");
  x = inception_block(net, x, {32, 32, 48, 8, 16, 16}, "a");
  x = inception_block(net, x, {48, 48, 64, 16, 32, 32}, "b");
  x = halve(x, "pool2");
  x = inception_block(net, x, {64, 64, 96, 16, 48, 48}, "c");
  x = net.global_average_pool(x, "avg_pool");
  x = net.dropout(x, options.dropout < 0 ? 0.2 : options.dropout);
  return {net.dense(x, options.classes, "predictions")};
}

}  // namespace plimsoll::zoo
