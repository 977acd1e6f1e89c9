#include <cmath>
#include <string>

#include "zoo/bodies.h"
#include "zoo/zoo.h"

namespace plimsoll::zoo {
namespace {

// EfficientNet-Lite by the factors of its width and depth; stem and head stay as they are.
struct Scale {
  double width, depth;
  double dropout;
};

// To whole eights, and never a tenth below what was asked for.
std::int64_t scaled_filters(std::int64_t filters, double width) {
  const double wanted = static_cast<double>(filters) * width;
  const std::int64_t rounded =
      std::max<std::int64_t>(8, static_cast<std::int64_t>(wanted + 4) / 8 * 8);
  return static_cast<double>(rounded) < 0.9 * wanted ? rounded + 8 : rounded;
}

ValueId norm_relu6(nn::Builder& net, ValueId x, const std::string& prefix) {
  x = net.batch_norm(x, {.name = prefix + "bn"});
  return net.activation(x, "relu6", prefix + "activation");
}

struct LiteBlock {
  int repeats;
  std::int64_t kernel, stride, expansion, filters;
};

// Widens, filters depthwise, narrows; adds the input where the shape is the same.
ValueId inverted_residual(nn::Builder& net, ValueId x, const LiteBlock& block, std::int64_t stride,
                          const std::string& name) {
  const ValueId input = x;
  const std::int64_t channels = net.spec(x).shape[1];
  const std::string prefix = name + "_";
  if (block.expansion > 1) {
    x = net.conv2d(x, block.expansion * channels, 1,
                   {.bias = false, .name = prefix + "expand_conv"});
    x = norm_relu6(net, x, prefix + "expand_");
  }
  x = net.depthwise_conv2d(x, block.kernel,
                           {.stride = stride, .bias = false, .name = prefix + "dwconv"});
  x = norm_relu6(net, x, prefix);
  x = net.conv2d(x, block.filters, 1, {.bias = false, .name = prefix + "project_conv"});
  x = net.batch_norm(x, {.name = prefix + "project_bn"});
  return channels == block.filters && stride == 1 ? net.add({input, x}, prefix + "add") : x;
}

Stages body(nn::Builder& net, const Scale& scale) {
  ValueId x = net.conv2d(net.image(), 32, 3, {.stride = 2, .bias = false, .name = "stem_conv"});
  x = norm_relu6(net, x, "stem_");
  constexpr int kStages = 7;
  const LiteBlock stages[kStages] = {{1, 3, 1, 1, 16}, {2, 3, 2, 6, 24},  {2, 5, 2, 6, 40},
                                     {3, 3, 2, 6, 80}, {3, 5, 1, 6, 112}, {4, 5, 2, 6, 192},
                                     {1, 3, 1, 6, 320}};
  Values ends;
  for (int s = 0; s < kStages; ++s) {
    LiteBlock block = stages[s];
    block.filters = scaled_filters(block.filters, scale.width);
    if (s > 0 && s + 1 < kStages)
      block.repeats = static_cast<int>(std::ceil(block.repeats * scale.depth));
    for (int b = 0; b < block.repeats; ++b)
      x = inverted_residual(net, x, block, b == 0 ? block.stride : 1,
                            "block" + std::to_string(s + 1) + static_cast<char>('a' + b));
    ends.push_back(x);
  }
  return {ends[1], ends[2], ends[4], ends[6]};
}

Heads efficientnet_lite(nn::Builder& net, const Options& options, const Scale& scale) {
  ValueId x = body(net, scale).c5;
  x = net.conv2d(x, 1280, 1, {.bias = false, .name = "top_conv"});
  x = norm_relu6(net, x, "top_");
  x = net.global_average_pool(x, "avg_pool");
  x = net.dropout(x, options.dropout >= 0 ? options.dropout : scale.dropout, "top_dropout");
  return {net.dense(x, options.classes, "predictions")};
}

constexpr Scale kLite0{.width = 1.0, .depth = 1.0, .dropout = 0.2};

}  // namespace

Stages efficientnet_lite0_body(nn::Builder& net) { return body(net, kLite0); }

Heads efficientnet_lite0(nn::Builder& net, const Options& options) {
  return efficientnet_lite(net, options, kLite0);
}
Heads efficientnet_lite1(nn::Builder& net, const Options& options) {
  return efficientnet_lite(net, options, {.width = 1.0, .depth = 1.1, .dropout = 0.2});
}
Heads efficientnet_lite2(nn::Builder& net, const Options& options) {
  return efficientnet_lite(net, options, {.width = 1.1, .depth = 1.2, .dropout = 0.3});
}

}  // namespace plimsoll::zoo
