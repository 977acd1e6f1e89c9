// Detectors of one stage: a body, a pyramid and heads that all levels share.
#include "zoo/bodies.h"
#include "zoo/detection_heads.h"
#include "zoo/pyramid.h"
#include "zoo/zoo.h"

namespace plimsoll::zoo {
namespace {

// Deviations of 0.01, as in torchvision, are made for towers 256 wide: in narrow ones signals die.
constexpr nn::Start kNarrowTower{.kind = nn::Init::Kind::he_normal};
constexpr std::int64_t kNarrow = 64;

}  // namespace

Heads retinanet_r50(nn::Builder& net, const Options& options) {
  const Values levels = pyramid(net, resnet50_torch_body(net, std::string(kBodyPrefix)),
                                {.top = PyramidTop::convolved});
  return detection_heads(net, levels, {.classes = options.classes});
}

Heads retinanet_mini(nn::Builder& net, const Options& options) {
  const Values levels = pyramid(net, mini_body(net, std::string(kBodyPrefix)), {.width = kNarrow});
  return detection_heads(net, levels,
                         {.classes = options.classes, .depth = 2, .tower_start = kNarrowTower});
}

Heads retinanet_lite0(nn::Builder& net, const Options& options) {
  const Values levels = pyramid(net, efficientnet_lite0_body(net), {.width = kNarrow});
  return detection_heads(net, levels,
                         {.classes = options.classes, .depth = 2, .tower_start = kNarrowTower});
}

}  // namespace plimsoll::zoo
