#include "zoo/pyramid.h"

#include "base/error.h"
#include "zoo/detection_heads.h"

namespace plimsoll::zoo {
namespace {

constexpr std::int64_t kCoarsest = 32;  // stride of the last stage

const std::string kPrefix(kPyramidPrefix);

void check_image(const nn::Builder& net) {
  const Shape& image = net.spec(net.image()).shape;
  if (image[2] % kCoarsest == 0 && image[3] % kCoarsest == 0) return;
  const auto rounded = [](std::int64_t side) {
    return std::to_string((side + kCoarsest - 1) / kCoarsest * kCoarsest);
  };
  throw UsageError({.where = "--image",
                    .got = std::to_string(image[2]) + "x" + std::to_string(image[3]),
                    .expected = "expected sides that 32 divides, as the levels of a pyramid need",
                    .hint = "try " + rounded(image[2]) + "x" + rounded(image[3])});
}

nn::ConvOptions options_of(const std::string& name, std::int64_t stride = 1) {
  return {.stride = stride,
          .padding = nn::Padding::symmetric,
          .name = kPrefix + name,
          .kernel_start = {.kind = nn::Init::Kind::lecun_uniform}};
}

}  // namespace

Values pyramid(nn::Builder& net, const Stages& stages, const PyramidOptions& options) {
  check_image(net);
  Values inputs{stages.c3, stages.c4, stages.c5};
  if (options.from_4) inputs.insert(inputs.begin(), stages.c2);
  Values levels(inputs.size(), kNoValue);
  ValueId above = kNoValue;
  for (std::size_t i = inputs.size(); i-- > 0;) {
    const std::string number = std::to_string(i);
    ValueId x =
        net.conv2d(inputs[i], options.width, 1, options_of("inner_blocks." + number + ".0"));
    if (above)
      x = net.add({x, net.upsample(above, 2, kPrefix + "upsample." + number)},
                  kPrefix + "add." + number);
    above = x;
    levels[i] = net.conv2d(x, options.width, 3, options_of("layer_blocks." + number + ".0"));
  }
  if (options.top == PyramidTop::pooled)
    levels.push_back(net.max_pool(levels.back(), 1, {.name = kPrefix + "extra_blocks.pool"}));
  if (options.top != PyramidTop::convolved) return levels;
  levels.push_back(net.conv2d(levels.back(), options.width, 3, options_of("extra_blocks.p6", 2)));
  const ValueId x = net.relu(levels.back(), kPrefix + "extra_blocks.relu");
  levels.push_back(net.conv2d(x, options.width, 3, options_of("extra_blocks.p7", 2)));
  return levels;
}

}  // namespace plimsoll::zoo
