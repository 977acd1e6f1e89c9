#include <string>

#include "zoo/bricks.h"
#include "zoo/zoo.h"

namespace plimsoll::zoo {
namespace {

ValueId entry_block(nn::Builder& net, ValueId x, std::int64_t filters, const std::string& block,
                    bool relu_first) {
  ValueId residual =
      net.conv2d(x, filters, 1, {.stride = 2, .bias = false, .name = block + "_residual"});
  residual = net.batch_norm(residual, {.name = block + "_residual_bn"});
  if (relu_first) x = net.relu(x, block + "_sepconv1_act");
  x = separable_bn(net, x, filters, block + "_sepconv1");
  x = separable_bn(net, net.relu(x, block + "_sepconv2_act"), filters, block + "_sepconv2");
  x = net.max_pool(x, 3, {.padding = nn::Padding::same, .name = block + "_pool"});
  return net.add({x, residual}, block + "_add");
}

ValueId middle_block(nn::Builder& net, ValueId x, std::int64_t filters, const std::string& block) {
  const ValueId residual = x;
  for (int part = 1; part <= 3; ++part) {
    const std::string name = block + "_sepconv" + std::to_string(part);
    x = separable_bn(net, net.relu(x, name + "_act"), filters, name);
  }
  return net.add({x, residual}, block + "_add");
}

}  // namespace

Heads xception_mini(nn::Builder& net, const Options& options) {
  net.set_batch_norm_momentum(0.9);
  ValueId x = conv_bn_relu(net, net.image(), 16, 3, "block1_conv1", 2);
  x = conv_bn_relu(net, x, 32, 3, "block1_conv2");
  x = entry_block(net, x, 64, "block2", false);
  x = entry_block(net, x, 128, "block3", true);
  x = middle_block(net, x, 128, "block4");
  x = middle_block(net, x, 128, "block5");
  x = net.relu(separable_bn(net, x, 256, "block6_sepconv1"), "block6_sepconv1_act");
  x = net.global_average_pool(x, "avg_pool");
  if (options.dropout > 0) x = net.dropout(x, options.dropout);
  return {net.dense(x, options.classes, "predictions")};
}

}  // namespace plimsoll::zoo
