#include "zoo/bodies.h"
#include "zoo/torch_bricks.h"

namespace plimsoll::zoo {
namespace {

ValueId basic_block(nn::Builder& net, ValueId x, std::int64_t filters, std::int64_t stride,
                    const std::string& name) {
  const bool changes = stride > 1 || net.spec(x).shape[1] != filters;
  const ValueId shortcut = changes ? resnet_conv_bn(net, x, filters, 1, stride,
                                                    name + "downsample.0", name + "downsample.1")
                                   : x;
  ValueId y = resnet_conv_bn(net, x, filters, 3, stride, name + "conv1", name + "bn1");
  y = net.relu(y, name + "relu1");
  y = resnet_conv_bn(net, y, filters, 3, 1, name + "conv2", name + "bn2");
  return net.relu(net.add({shortcut, y}, name + "add"), name + "relu");
}

}  // namespace

Stages mini_body(nn::Builder& net, const std::string& prefix) {
  ValueId x = resnet_conv_bn(net, net.image(), 16, 3, 2, prefix + "conv1", prefix + "bn1");
  x = net.relu(x, prefix + "relu1");
  x = resnet_conv_bn(net, x, 32, 3, 2, prefix + "conv2", prefix + "bn2");
  x = net.relu(x, prefix + "relu2");
  constexpr std::int64_t kFilters[] = {32, 64, 128, 128};
  Values stages;
  for (const std::int64_t filters : kFilters) {
    const std::string name = prefix + "layer" + std::to_string(stages.size() + 1) + ".";
    x = basic_block(net, x, filters, stages.empty() ? 1 : 2, name + "0.");
    x = basic_block(net, x, filters, 1, name + "1.");
    stages.push_back(x);
  }
  return {stages[0], stages[1], stages[2], stages[3]};
}

}  // namespace plimsoll::zoo
