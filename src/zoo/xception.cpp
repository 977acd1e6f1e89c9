#include <string>

#include "zoo/bricks.h"
#include "zoo/zoo.h"

namespace plimsoll::zoo {
namespace {

using nn::Padding;

std::string block_name(int block, int part) {
  return "block" + std::to_string(block) + "_sepconv" + std::to_string(part);
}

// Two separable convolutions and a pool beside a strided 1x1.
ValueId entry_block(nn::Builder& net, ValueId x, int block, std::int64_t first,
                    std::int64_t second) {
  const ValueId residual = net.batch_norm(net.conv2d(x, second, 1, {.stride = 2, .bias = false}));
  if (block > 2) x = net.relu(x, block_name(block, 1) + "_act");
  x = separable_bn(net, x, first, block_name(block, 1));
  x = separable_bn(net, net.relu(x, block_name(block, 2) + "_act"), second, block_name(block, 2));
  x = net.max_pool(x, 3,
                   {.padding = Padding::same, .name = "block" + std::to_string(block) + "_pool"});
  return net.add({x, residual});
}

ValueId middle_block(nn::Builder& net, ValueId x, int block) {
  const ValueId residual = x;
  for (int part = 1; part <= 3; ++part)
    x = separable_bn(net, net.relu(x, block_name(block, part) + "_act"), 728,
                     block_name(block, part));
  return net.add({x, residual});
}

}  // namespace

Heads xception(nn::Builder& net, const Options& options) {
  const auto stem = [&](ValueId x, std::int64_t filters, nn::Size2 stride,
                        const std::string& name) {
    x = net.conv2d(x, filters, 3,
                   {.stride = stride, .padding = Padding::valid, .bias = false, .name = name});
    return net.relu(net.batch_norm(x, {.name = name + "_bn"}), name + "_act");
  };
  ValueId x = stem(net.image(), 32, 2, "block1_conv1");
  x = stem(x, 64, 1, "block1_conv2");

  x = entry_block(net, x, 2, 128, 128);
  x = entry_block(net, x, 3, 256, 256);
  x = entry_block(net, x, 4, 728, 728);
  for (int block = 5; block <= 12; ++block) x = middle_block(net, x, block);
  x = entry_block(net, x, 13, 728, 1024);

  x = net.relu(separable_bn(net, x, 1536, "block14_sepconv1"), "block14_sepconv1_act");
  x = net.relu(separable_bn(net, x, 2048, "block14_sepconv2"), "block14_sepconv2_act");
  x = net.global_average_pool(x, "avg_pool");
  return {net.dense(x, options.classes, "predictions")};
}

}  // namespace plimsoll::zoo
