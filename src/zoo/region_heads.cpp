#include "zoo/region_heads.h"

#include <algorithm>

namespace plimsoll::zoo {
namespace {

constexpr std::int64_t kFirstLevel = 2;      // cells 2^2 pixels apart
constexpr std::size_t kLevelsOfRegions = 4;  // strides 4 to 32

const std::string kFirstStage(kFirstStagePrefix);
const std::string kSecondStage(kSecondStagePrefix);

ValueId shared_conv(nn::Builder& net, ValueId x, std::int64_t filters, std::int64_t kernel,
                    const nn::ConvOptions& options) {
  net.share(options.name);
  return net.conv2d(x, filters, kernel, options);
}

// Whether anything is at an anchor, and where.
nn::Level first_stage(nn::Builder& net, ValueId features, const nn::Start& start) {
  const ValueId x = shared_conv(
      net, features, net.spec(features).shape[1], 3,
      {.activation = "relu", .name = kFirstStage + "head.conv.0.0", .kernel_start = start});
  const nn::Start output{.kind = nn::Init::Kind::normal, .scale = 0.01};
  const ValueId scores =
      shared_conv(net, x, kRegionAnchorsPerCell, 1,
                  {.name = kFirstStage + "head.cls_logits", .kernel_start = output});
  const ValueId deltas =
      shared_conv(net, x, 4 * kRegionAnchorsPerCell, 1,
                  {.name = kFirstStage + "head.bbox_pred", .kernel_start = output});
  return {features, scores, deltas};
}

}  // namespace

nn::Heads region_heads(nn::Builder& net, const Values& levels, const RegionHeadOptions& options) {
  nn::Heads heads;
  for (const ValueId level : levels)
    heads.levels.push_back(first_stage(net, level, options.tower_start));

  nn::SecondStage& second = heads.second;
  second.regions = net.regions(heads.levels, options.regions, kSecondStage + "regions");
  second.features = Values(levels.begin(), levels.begin() + static_cast<std::ptrdiff_t>(std::min(
                                                                levels.size(), kLevelsOfRegions)));
  const auto dense = [&](ValueId x, std::int64_t units, std::string_view name,
                         const nn::Start& start, const std::string& activation = {}) {
    return net.dense(x, units,
                     {.activation = activation,
                      .name = std::string(name),
                      .kernel_start = start,
                      .bias_start = options.bias_start});
  };
  ValueId x = net.roi_align(second.regions.boxes, second.features, kRegionBins, kFirstLevel,
                            kSecondStage + "box_roi_pool");
  x = net.flatten(x, kSecondStage + "box_head.flatten");
  x = dense(x, options.hidden, kRegionDense, options.dense_start, "relu");
  x = dense(x, options.hidden, kSecondStage + "box_head.fc7", options.dense_start, "relu");
  second.scores = dense(x, options.classes + 1, kRegionClassOutput, options.output_start);
  second.deltas = dense(x, 4 * (options.classes + 1), kRegionBoxOutput, options.output_start);
  return heads;
}

}  // namespace plimsoll::zoo
