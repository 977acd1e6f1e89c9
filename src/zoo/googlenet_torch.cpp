#include "zoo/bricks.h"
#include "zoo/torch_bricks.h"
#include "zoo/zoo.h"

namespace plimsoll::zoo {
namespace {

// The third branch has 3x3 windows where the paper has 5x5: torchvision's weights are so.
ValueId torch_inception_block(nn::Builder& net, ValueId x, const InceptionWidths& w,
                              const std::string& name) {
  const ValueId one = torch_basic_conv(net, x, w.one, 1, name + ".branch1");
  ValueId three = torch_basic_conv(net, x, w.three_reduce, 1, name + ".branch2.0");
  three = torch_basic_conv(net, three, w.three, 3, name + ".branch2.1");
  ValueId five = torch_basic_conv(net, x, w.five_reduce, 1, name + ".branch3.0");
  five = torch_basic_conv(net, five, w.five, 3, name + ".branch3.1");
  ValueId pool = net.max_pool(
      x, 3, {.stride = 1, .padding = nn::Padding::symmetric, .name = name + ".branch4.0"});
  pool = torch_basic_conv(net, pool, w.pool, 1, name + ".branch4.1");
  return net.concat({one, three, five, pool}, name);
}

}  // namespace

Heads googlenet_torch(nn::Builder& net, const Options& options) {
  const auto halve = [&](ValueId x, std::int64_t window, const char* name) {
    return net.max_pool(x, window, {.padding = nn::Padding::ceil, .name = name});
  };
  ValueId x = torch_basic_conv(net, net.image(), 64, 7, "conv1", 2);
  x = halve(x, 3, "maxpool1");
  x = torch_basic_conv(net, x, 64, 1, "conv2");
  x = torch_basic_conv(net, x, 192, 3, "conv3");
  x = halve(x, 3, "maxpool2");
  x = torch_inception_block(net, x, {64, 96, 128, 16, 32, 32}, "inception3a");
  x = torch_inception_block(net, x, {128, 128, 192, 32, 96, 64}, "inception3b");
  x = halve(x, 3, "maxpool3");
  x = torch_inception_block(net, x, {192, 96, 208, 16, 48, 64}, "inception4a");
  x = torch_inception_block(net, x, {160, 112, 224, 24, 64, 64}, "inception4b");
  x = torch_inception_block(net, x, {128, 128, 256, 24, 64, 64}, "inception4c");
  x = torch_inception_block(net, x, {112, 144, 288, 32, 64, 64}, "inception4d");
  x = torch_inception_block(net, x, {256, 160, 320, 32, 128, 128}, "inception4e");
  x = halve(x, 2, "maxpool4");
  x = torch_inception_block(net, x, {256, 160, 320, 32, 128, 128}, "inception5a");
  x = torch_inception_block(net, x, {384, 192, 384, 48, 128, 128}, "inception5b");
  x = net.global_average_pool(x, "avgpool");
  x = net.dropout(x, options.dropout >= 0 ? options.dropout : 0.2, "dropout");
  return {net.dense(x, options.classes, "fc")};
}

}  // namespace plimsoll::zoo
