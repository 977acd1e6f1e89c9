// Detectors of one stage: a body, a pyramid and heads that all levels share.
#include "zoo/bodies.h"
#include "zoo/detection_heads.h"
#include "zoo/pyramid.h"
#include "zoo/torch_bricks.h"
#include "zoo/zoo.h"

namespace plimsoll::zoo {
namespace {

const std::string kBody(kBodyPrefix);

// Deviations of 0.01, as in torchvision, are made for towers 256 wide: in narrow ones signals die.
constexpr nn::Start kNarrowTower{.kind = nn::Init::Kind::he_normal};
constexpr std::int64_t kNarrow = 64;

ValueId conv_bn(nn::Builder& net, ValueId x, std::int64_t filters, std::int64_t kernel,
                std::int64_t stride, const std::string& conv, const std::string& norm) {
  return resnet_conv_bn(net, x, filters, kernel, stride, kBody + conv, kBody + norm);
}

ValueId basic_block(nn::Builder& net, ValueId x, std::int64_t filters, std::int64_t stride,
                    const std::string& name) {
  const bool changes = stride > 1 || net.spec(x).shape[1] != filters;
  const ValueId shortcut =
      changes ? conv_bn(net, x, filters, 1, stride, name + "downsample.0", name + "downsample.1")
              : x;
  ValueId y = conv_bn(net, x, filters, 3, stride, name + "conv1", name + "bn1");
  y = net.relu(y, kBody + name + "relu1");
  y = conv_bn(net, y, filters, 3, 1, name + "conv2", name + "bn2");
  return net.relu(net.add({shortcut, y}, kBody + name + "add"), kBody + name + "relu");
}

// A residual network of 18 convolutions, 128 wide at most.
Stages mini_body(nn::Builder& net) {
  ValueId x = conv_bn(net, net.image(), 16, 3, 2, "conv1", "bn1");
  x = net.relu(x, kBody + "relu1");
  x = conv_bn(net, x, 32, 3, 2, "conv2", "bn2");
  x = net.relu(x, kBody + "relu2");
  constexpr std::int64_t kFilters[] = {32, 64, 128, 128};
  Values stages;
  for (const std::int64_t filters : kFilters) {
    const std::string name = "layer" + std::to_string(stages.size() + 1) + ".";
    x = basic_block(net, x, filters, stages.empty() ? 1 : 2, name + "0.");
    x = basic_block(net, x, filters, 1, name + "1.");
    stages.push_back(x);
  }
  return {stages[1], stages[2], stages[3]};
}

}  // namespace

Heads retinanet_r50(nn::Builder& net, const Options& options) {
  const Values levels = pyramid(net, resnet50_torch_body(net, kBody), {.is_tall = true});
  return detection_heads(net, levels, {.classes = options.classes});
}

Heads retinanet_mini(nn::Builder& net, const Options& options) {
  const Values levels = pyramid(net, mini_body(net), {.width = kNarrow});
  return detection_heads(net, levels,
                         {.classes = options.classes, .depth = 2, .tower_start = kNarrowTower});
}

Heads retinanet_lite0(nn::Builder& net, const Options& options) {
  const Values levels = pyramid(net, efficientnet_lite0_body(net), {.width = kNarrow});
  return detection_heads(net, levels,
                         {.classes = options.classes, .depth = 2, .tower_start = kNarrowTower});
}

}  // namespace plimsoll::zoo
