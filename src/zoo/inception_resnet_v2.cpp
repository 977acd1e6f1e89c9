#include <string>

#include "zoo/zoo.h"

namespace plimsoll::zoo {
namespace {

using nn::Padding;
using nn::Size2;

struct InceptionResnetBricks {
  nn::Builder& net;

  ValueId conv(ValueId x, std::int64_t filters, Size2 kernel, Size2 stride = 1,
               Padding padding = Padding::same, const std::string& name = "") const {
    const auto derived = [&](const char* suffix) { return name.empty() ? name : name + suffix; };
    x = net.conv2d(x, filters, kernel,
                   {.stride = stride, .padding = padding, .bias = false, .name = name});
    return net.relu(net.batch_norm(x, {.scale = false, .name = derived("_bn")}), derived("_ac"));
  }

  // Adds a scaled 1x1 projection of the joined branches to x.
  ValueId residual(ValueId x, const Values& branches, double factor, const std::string& name,
                   bool relu = true) const {
    const ValueId mixed = net.concat(branches, name + "_mixed");
    const ValueId up = net.conv2d(mixed, net.spec(x).shape[1], 1, {.name = name + "_conv"});
    x = net.scaled_add(x, up, factor);
    return relu ? net.relu(x, name + "_ac") : x;
  }

  ValueId block35(ValueId x, const std::string& name) const {
    const ValueId b0 = conv(x, 32, 1);
    const ValueId b1 = conv(conv(x, 32, 1), 32, 3);
    const ValueId b2 = conv(conv(conv(x, 32, 1), 48, 3), 64, 3);
    return residual(x, {b0, b1, b2}, 0.17, name);
  }
  ValueId block17(ValueId x, const std::string& name) const {
    const ValueId b0 = conv(x, 192, 1);
    const ValueId b1 = conv(conv(conv(x, 128, 1), 160, {1, 7}), 192, {7, 1});
    return residual(x, {b0, b1}, 0.1, name);
  }
  ValueId block8(ValueId x, double factor, const std::string& name, bool relu) const {
    const ValueId b0 = conv(x, 192, 1);
    const ValueId b1 = conv(conv(conv(x, 192, 1), 224, {1, 3}), 256, {3, 1});
    return residual(x, {b0, b1}, factor, name, relu);
  }
};

}  // namespace

Heads inception_resnet_v2(nn::Builder& net, const Options& options) {
  const InceptionResnetBricks b{net};
  ValueId x = b.conv(net.image(), 32, 3, 2, Padding::valid);
  x = b.conv(x, 32, 3, 1, Padding::valid);
  x = b.conv(x, 64, 3);
  x = net.max_pool(x, 3);
  x = b.conv(x, 80, 1, 1, Padding::valid);
  x = b.conv(x, 192, 3, 1, Padding::valid);
  x = net.max_pool(x, 3);

  ValueId b0 = b.conv(x, 96, 1);
  ValueId b1 = b.conv(b.conv(x, 48, 1), 64, 5);
  ValueId b2 = b.conv(b.conv(b.conv(x, 64, 1), 96, 3), 96, 3);
  const ValueId pool =
      b.conv(net.average_pool(x, 3, {.stride = 1, .padding = Padding::same}), 64, 1);
  x = net.concat({b0, b1, b2, pool}, "mixed_5b");
  for (int i = 1; i <= 10; ++i) x = b.block35(x, "block35_" + std::to_string(i));

  b0 = b.conv(x, 384, 3, 2, Padding::valid);
  b1 = b.conv(b.conv(b.conv(x, 256, 1), 256, 3), 384, 3, 2, Padding::valid);
  x = net.concat({b0, b1, net.max_pool(x, 3)}, "mixed_6a");
  for (int i = 1; i <= 20; ++i) x = b.block17(x, "block17_" + std::to_string(i));

  b0 = b.conv(b.conv(x, 256, 1), 384, 3, 2, Padding::valid);
  b1 = b.conv(b.conv(x, 256, 1), 288, 3, 2, Padding::valid);
  b2 = b.conv(b.conv(b.conv(x, 256, 1), 288, 3), 320, 3, 2, Padding::valid);
  x = net.concat({b0, b1, b2, net.max_pool(x, 3)}, "mixed_7a");
  for (int i = 1; i <= 9; ++i) x = b.block8(x, 0.2, "block8_" + std::to_string(i), true);
  x = b.block8(x, 1.0, "block8_10", false);

  x = b.conv(x, 1536, 1, 1, Padding::same, "conv_7b");
  x = net.global_average_pool(x, "avg_pool");
  return {net.dense(x, options.classes, "predictions")};
}

}  // namespace plimsoll::zoo
