#include "zoo/detection_heads.h"

#include <cmath>

namespace plimsoll::zoo {
namespace {

constexpr double kPrior = 0.01;  // what a class starts from: nearly every anchor is background

struct Head {
  std::string tower, output;
  std::int64_t filters;  // of its output
  nn::Start bias;
};

ValueId shared_conv(nn::Builder& net, ValueId x, std::int64_t filters,
                    const nn::ConvOptions& options) {
  net.share(options.name);
  return net.conv2d(x, filters, 3, options);
}

ValueId append(nn::Builder& net, ValueId x, const Head& head, const DetectionHeadOptions& options) {
  const std::int64_t width = net.spec(x).shape[1];
  for (int i = 0; i < options.depth; ++i)
    x = shared_conv(net, x, width,
                    {.activation = "relu",
                     .name = head.tower + std::to_string(i) + ".0",
                     .kernel_start = options.tower_start});
  return shared_conv(net, x, head.filters,
                     {.name = head.output,
                      .kernel_start = {.kind = nn::Init::Kind::normal, .scale = 0.01},
                      .bias_start = head.bias});
}

}  // namespace

nn::Heads detection_heads(nn::Builder& net, const Values& levels,
                          const DetectionHeadOptions& options) {
  const Head classes{
      .tower = "head.classification_head.conv.",
      .output = std::string(kClassOutput),
      .filters = kAnchorsPerCell * options.classes,
      .bias = {.kind = nn::Init::Kind::constant, .scale = -std::log((1 - kPrior) / kPrior)}};
  const Head boxes{.tower = "head.regression_head.conv.",
                   .output = "head.regression_head.bbox_reg",
                   .filters = kAnchorsPerCell * 4,
                   .bias = {}};
  nn::Heads heads;
  for (const ValueId level : levels) {
    const ValueId scores = append(net, level, classes, options);
    heads.levels.push_back({level, scores, append(net, level, boxes, options)});
  }
  return heads;
}

}  // namespace plimsoll::zoo
