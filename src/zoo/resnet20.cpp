#include <string>

#include "zoo/bricks.h"
#include "zoo/zoo.h"

namespace plimsoll::zoo {
namespace {

ValueId residual_block(nn::Builder& net, ValueId x, std::int64_t filters, const std::string& name,
                       bool halve) {
  ValueId shortcut = x;
  const std::int64_t stride = halve ? 2 : 1;
  ValueId y = conv_bn_relu(net, x, filters, 3, name + "_conv1", stride);
  y = net.conv2d(y, filters, 3, {.bias = false, .name = name + "_conv2"});
  y = net.batch_norm(y, {.name = name + "_conv2_bn"});
  if (halve) {
    shortcut =
        net.conv2d(x, filters, 1, {.stride = stride, .bias = false, .name = name + "_shortcut"});
    shortcut = net.batch_norm(shortcut, {.name = name + "_shortcut_bn"});
  }
  return net.relu(net.add({y, shortcut}, name + "_add"), name + "_out");
}

}  // namespace

Heads resnet20(nn::Builder& net, const Options& options) {
  net.set_batch_norm_momentum(0.9);
  ValueId x = conv_bn_relu(net, net.image(), 16, 3, "conv1");
  for (int stage = 1; stage <= 3; ++stage)
    for (int b = 1; b <= 3; ++b)
      x = residual_block(net, x, 8LL << stage,
                         "s" + std::to_string(stage) + "b" + std::to_string(b),
                         stage > 1 && b == 1);
  x = net.global_average_pool(x, "avg_pool");
  if (options.dropout > 0) x = net.dropout(x, options.dropout);
  return {net.dense(x, options.classes, "predictions")};
}

}  // namespace plimsoll::zoo
