// Detectors of two stages: a body, a pyramid, heads that propose regions and heads that look at
// them.
#include "zoo/bodies.h"
#include "zoo/detection_heads.h"
#include "zoo/pyramid.h"
#include "zoo/region_heads.h"
#include "zoo/zoo.h"

namespace plimsoll::zoo {

Heads fasterrcnn_r50(nn::Builder& net, const Options& options) {
  const Values levels = pyramid(net, resnet50_torch_body(net, std::string(kBodyPrefix)),
                                {.from_4 = true, .top = PyramidTop::pooled});
  return region_heads(net, levels, {.classes = options.classes});
}

// Narrow layers start wider than torchvision's, whose signals would die in them.
Heads fasterrcnn_mini(nn::Builder& net, const Options& options) {
  constexpr nn::Start kNarrow{.kind = nn::Init::Kind::he_normal};
  const Values levels =
      pyramid(net, mini_body(net, std::string(kBodyPrefix)), {.width = 64, .from_4 = true});
  return region_heads(net, levels,
                      {.classes = options.classes,
                       .hidden = 256,
                       .regions = {.training = {600, 300}, .inference = {600, 300}, .drawn = 64},
                       .tower_start = kNarrow,
                       .dense_start = kNarrow,
                       .output_start = {.kind = nn::Init::Kind::normal, .scale = 0.01},
                       .bias_start = {}});
}

}  // namespace plimsoll::zoo
