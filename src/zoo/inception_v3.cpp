#include <algorithm>

#include "zoo/zoo.h"

namespace plimsoll::zoo {
namespace {

using nn::Padding;
using nn::Size2;

// conv - BatchNorm without scale - relu: the one brick of the network.
struct InceptionV3Bricks {
  nn::Builder& net;

  ValueId conv(ValueId x, std::int64_t filters, Size2 kernel, Size2 stride = 1,
               Padding padding = Padding::same) const {
    x = net.conv2d(x, filters, kernel, {.stride = stride, .padding = padding, .bias = false});
    return net.relu(net.batch_norm(x, {.scale = false}));
  }
  ValueId averaged(ValueId x, std::int64_t filters) const {
    return conv(net.average_pool(x, 3, {.stride = 1, .padding = Padding::same}), filters, 1);
  }

  // 35x35
  ValueId block_a(ValueId x, std::int64_t pool_filters, const char* name) const {
    const ValueId b1 = conv(x, 64, 1);
    const ValueId b5 = conv(conv(x, 48, 1), 64, 5);
    const ValueId b3 = conv(conv(conv(x, 64, 1), 96, 3), 96, 3);
    return net.concat({b1, b5, b3, averaged(x, pool_filters)}, name);
  }
  // 35x35 to 17x17
  ValueId reduce_a(ValueId x, const char* name) const {
    const ValueId b3 = conv(x, 384, 3, 2, Padding::valid);
    const ValueId deep = conv(conv(conv(x, 64, 1), 96, 3), 96, 3, 2, Padding::valid);
    return net.concat({b3, deep, net.max_pool(x, 3)}, name);
  }
  // 17x17
  ValueId block_b(ValueId x, std::int64_t m, const char* name) const {
    const ValueId b1 = conv(x, 192, 1);
    const ValueId b7 = conv(conv(conv(x, m, 1), m, {1, 7}), 192, {7, 1});
    const ValueId deep =
        conv(conv(conv(conv(conv(x, m, 1), m, {7, 1}), m, {1, 7}), m, {7, 1}), 192, {1, 7});
    return net.concat({b1, b7, deep, averaged(x, 192)}, name);
  }
  // 17x17 to 8x8
  ValueId reduce_b(ValueId x, const char* name) const {
    const ValueId b3 = conv(conv(x, 192, 1), 320, 3, 2, Padding::valid);
    const ValueId b7 =
        conv(conv(conv(conv(x, 192, 1), 192, {1, 7}), 192, {7, 1}), 192, 3, 2, Padding::valid);
    return net.concat({b3, b7, net.max_pool(x, 3)}, name);
  }
  // 8x8
  ValueId block_c(ValueId x, const char* name, const char* inner) const {
    const ValueId b1 = conv(x, 320, 1);
    const ValueId wide = conv(x, 384, 1);
    const ValueId wide_a = conv(wide, 384, {1, 3});
    const ValueId wide_b = conv(wide, 384, {3, 1});
    const ValueId b3 = net.concat({wide_a, wide_b}, inner);
    const ValueId deep = conv(conv(x, 448, 1), 384, 3);
    const ValueId deep_a = conv(deep, 384, {1, 3});
    const ValueId deep_b = conv(deep, 384, {3, 1});
    const ValueId b33 = net.concat({deep_a, deep_b});
    return net.concat({b1, b3, b33, averaged(x, 192)}, name);
  }
};

// Slim's auxiliary classifier over the last 17x17 grid; windows shrink with small images.
ValueId auxiliary_head(const InceptionV3Bricks& b, ValueId x, std::int64_t classes) {
  nn::Builder& net = b.net;
  const auto side = [&](ValueId v) { return std::min(net.spec(v).shape[2], net.spec(v).shape[3]); };
  const auto brick = [&](ValueId v, std::int64_t filters, std::int64_t kernel,
                         const std::string& name) {
    v = net.conv2d(v, filters, kernel, {.padding = Padding::valid, .bias = false, .name = name});
    return net.relu(net.batch_norm(v, {.scale = false, .name = name + "_bn"}), name + "_act");
  };
  x = net.average_pool(x, std::min<std::int64_t>(5, side(x)), {.stride = 3, .name = "aux_pool"});
  x = brick(x, 128, 1, "aux_conv1");
  x = brick(x, 768, std::min<std::int64_t>(5, side(x)), "aux_conv2");
  return net.dense(net.flatten(x, "aux_flatten"), classes, "aux_predictions");
}

}  // namespace

Heads inception_v3(nn::Builder& net, const Options& options) {
  const InceptionV3Bricks b{net};
  ValueId x = b.conv(net.image(), 32, 3, 2, Padding::valid);
  x = b.conv(x, 32, 3, 1, Padding::valid);
  x = b.conv(x, 64, 3);
  x = net.max_pool(x, 3);
  x = b.conv(x, 80, 1, 1, Padding::valid);
  x = b.conv(x, 192, 3, 1, Padding::valid);
  x = net.max_pool(x, 3);

  x = b.block_a(x, 32, "mixed0");
  x = b.block_a(x, 64, "mixed1");
  x = b.block_a(x, 64, "mixed2");
  x = b.reduce_a(x, "mixed3");
  x = b.block_b(x, 128, "mixed4");
  x = b.block_b(x, 160, "mixed5");
  x = b.block_b(x, 160, "mixed6");
  x = b.block_b(x, 192, "mixed7");
  const bool wants_auxiliary = options.auxiliary && net.mode() == nn::Mode::training;
  const ValueId auxiliary = wants_auxiliary ? auxiliary_head(b, x, options.classes) : kNoValue;
  x = b.reduce_b(x, "mixed8");
  x = b.block_c(x, "mixed9", "mixed9_0");
  x = b.block_c(x, "mixed10", "mixed9_1");

  x = net.global_average_pool(x, "avg_pool");
  return {net.dense(x, options.classes, "predictions"), auxiliary};
}

}  // namespace plimsoll::zoo
