#include "zoo/torch_bricks.h"
#include "zoo/zoo.h"

namespace plimsoll::zoo {
namespace {

// Widens, filters depthwise, narrows; adds the input where the shape is the same.
ValueId torch_inverted_residual(nn::Builder& net, ValueId x, std::int64_t filters,
                                std::int64_t stride, std::int64_t expansion,
                                const std::string& name) {
  const ValueId input = x;
  const std::int64_t channels = net.spec(x).shape[1];
  int part = 0;
  const auto next = [&] { return name + ".conv." + std::to_string(part++); };
  if (expansion > 1) {
    const std::string wide = next();
    x = torch_conv_bn(net, x, {.filters = expansion * channels}, wide + ".0", wide + ".1");
    x = net.activation(x, "relu6", wide + ".2");
  }
  const std::string depthwise = next();
  x = net.depthwise_conv2d(x, 3,
                           {.stride = stride,
                            .padding = nn::Padding::symmetric,
                            .bias = false,
                            .name = depthwise + ".0"});
  x = net.batch_norm(x, {.momentum = kTorchMomentum, .epsilon = 1e-5, .name = depthwise + ".1"});
  x = net.activation(x, "relu6", depthwise + ".2");
  const std::string narrow = next();
  x = torch_conv_bn(net, x, {.filters = filters}, narrow, next());
  return channels == filters && stride == 1 ? net.add({input, x}, name + ".add") : x;
}

}  // namespace

Heads mobilenet_v2_torch(nn::Builder& net, const Options& options) {
  ValueId x = torch_conv_bn(net, net.image(), {.filters = 32, .kernel = 3, .stride = 2},
                            "features.0.0", "features.0.1");
  x = net.activation(x, "relu6", "features.0.2");
  struct Stage {
    std::int64_t filters, stride, expansion;
    int blocks;
  };
  int number = 1;
  for (const Stage& stage : {Stage{16, 1, 1, 1},
                             {24, 2, 6, 2},
                             {32, 2, 6, 3},
                             {64, 2, 6, 4},
                             {96, 1, 6, 3},
                             {160, 2, 6, 3},
                             {320, 1, 6, 1}})
    for (int b = 0; b < stage.blocks; ++b)
      x = torch_inverted_residual(net, x, stage.filters, b == 0 ? stage.stride : 1, stage.expansion,
                                  "features." + std::to_string(number++));
  x = torch_conv_bn(net, x, {.filters = 1280}, "features.18.0", "features.18.1");
  x = net.activation(x, "relu6", "features.18.2");
  x = net.global_average_pool(x, "avgpool");
  x = net.dropout(x, options.dropout >= 0 ? options.dropout : 0.2, "classifier.0");
  return {net.dense(x, options.classes, "classifier.1")};
}

}  // namespace plimsoll::zoo
