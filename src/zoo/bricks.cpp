#include "zoo/bricks.h"

namespace plimsoll::zoo {

ValueId conv_bn_relu(nn::Builder& net, ValueId x, std::int64_t filters, nn::Size2 kernel,
                     const std::string& name, nn::Size2 stride) {
  x = net.conv2d(x, filters, kernel, {.stride = stride, .bias = false, .name = name});
  return net.relu(net.batch_norm(x, {.name = name + "_bn"}), name + "_relu");
}

ValueId separable_bn(nn::Builder& net, ValueId x, std::int64_t filters, const std::string& name) {
  x = net.separable_conv2d(x, filters, 3, {.bias = false, .name = name});
  return net.batch_norm(x, {.name = name + "_bn"});
}

ValueId inception_block(nn::Builder& net, ValueId x, const InceptionWidths& w,
                        const std::string& name) {
  const ValueId b1 = conv_bn_relu(net, x, w.one, 1, name + "_1x1");
  ValueId b3 = conv_bn_relu(net, x, w.three_reduce, 1, name + "_3x3_reduce");
  b3 = conv_bn_relu(net, b3, w.three, 3, name + "_3x3");
  ValueId b5 = conv_bn_relu(net, x, w.five_reduce, 1, name + "_5x5_reduce");
  b5 = conv_bn_relu(net, b5, w.five, 5, name + "_5x5");
  ValueId pool =
      net.max_pool(x, 3, {.stride = 1, .padding = nn::Padding::same, .name = name + "_pool"});
  pool = conv_bn_relu(net, pool, w.pool, 1, name + "_pool_proj");
  return net.concat({b1, b3, b5, pool}, name + "_concat");
}

}  // namespace plimsoll::zoo
