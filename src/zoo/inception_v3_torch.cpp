#include "zoo/torch_bricks.h"
#include "zoo/zoo.h"

namespace plimsoll::zoo {
namespace {

using nn::Padding;
using nn::Size2;

// One block, by torchvision's names of branches.
struct MixedBlock {
  nn::Builder& net;
  std::string name;  // "Mixed_5b"

  ValueId conv(ValueId x, std::int64_t filters, Size2 kernel, const std::string& branch,
               Size2 stride = 1, Padding padding = Padding::symmetric) const {
    return torch_basic_conv(net, x, filters, kernel, name + "." + branch, stride, padding);
  }
  ValueId halving(ValueId x, std::int64_t filters, const std::string& branch) const {
    return conv(x, filters, 3, branch, 2, Padding::valid);
  }
  // PyTorch's mean counts the cells of padding, as zeros.
  ValueId averaged(ValueId x, std::int64_t filters) const {
    x = net.zero_pad(x, 1, 1, 1, 1, name + ".pad");
    return conv(net.average_pool(x, 3, {.stride = 1, .name = name + ".pool"}), filters, 1,
                "branch_pool");
  }

  // 35x35
  ValueId a(ValueId x, std::int64_t pool_filters) const {
    const ValueId b1 = conv(x, 64, 1, "branch1x1");
    const ValueId b5 = conv(conv(x, 48, 1, "branch5x5_1"), 64, 5, "branch5x5_2");
    ValueId b3 = conv(x, 64, 1, "branch3x3dbl_1");
    b3 = conv(conv(b3, 96, 3, "branch3x3dbl_2"), 96, 3, "branch3x3dbl_3");
    return net.concat({b1, b5, b3, averaged(x, pool_filters)}, name);
  }
  // 35x35 to 17x17
  ValueId b(ValueId x) const {
    const ValueId b3 = halving(x, 384, "branch3x3");
    ValueId deep = conv(conv(x, 64, 1, "branch3x3dbl_1"), 96, 3, "branch3x3dbl_2");
    deep = halving(deep, 96, "branch3x3dbl_3");
    return net.concat({b3, deep, net.max_pool(x, 3, {.name = name + ".pool"})}, name);
  }
  // 17x17
  ValueId c(ValueId x, std::int64_t m) const {
    const ValueId b1 = conv(x, 192, 1, "branch1x1");
    ValueId b7 = conv(conv(x, m, 1, "branch7x7_1"), m, {1, 7}, "branch7x7_2");
    b7 = conv(b7, 192, {7, 1}, "branch7x7_3");
    ValueId deep = conv(conv(x, m, 1, "branch7x7dbl_1"), m, {7, 1}, "branch7x7dbl_2");
    deep = conv(conv(deep, m, {1, 7}, "branch7x7dbl_3"), m, {7, 1}, "branch7x7dbl_4");
    deep = conv(deep, 192, {1, 7}, "branch7x7dbl_5");
    return net.concat({b1, b7, deep, averaged(x, 192)}, name);
  }
  // 17x17 to 8x8
  ValueId d(ValueId x) const {
    const ValueId b3 = halving(conv(x, 192, 1, "branch3x3_1"), 320, "branch3x3_2");
    ValueId b7 = conv(conv(x, 192, 1, "branch7x7x3_1"), 192, {1, 7}, "branch7x7x3_2");
    b7 = halving(conv(b7, 192, {7, 1}, "branch7x7x3_3"), 192, "branch7x7x3_4");
    return net.concat({b3, b7, net.max_pool(x, 3, {.name = name + ".pool"})}, name);
  }
  // 8x8
  ValueId e(ValueId x) const {
    const ValueId b1 = conv(x, 320, 1, "branch1x1");
    const ValueId wide = conv(x, 384, 1, "branch3x3_1");
    const ValueId wide_a = conv(wide, 384, {1, 3}, "branch3x3_2a");
    const ValueId wide_b = conv(wide, 384, {3, 1}, "branch3x3_2b");
    const ValueId deep = conv(conv(x, 448, 1, "branch3x3dbl_1"), 384, 3, "branch3x3dbl_2");
    const ValueId deep_a = conv(deep, 384, {1, 3}, "branch3x3dbl_3a");
    const ValueId deep_b = conv(deep, 384, {3, 1}, "branch3x3dbl_3b");
    return net.concat({b1, wide_a, wide_b, deep_a, deep_b, averaged(x, 192)}, name);
  }
};

}  // namespace

Heads inception_v3_torch(nn::Builder& net, const Options& options) {
  ValueId x = torch_basic_conv(net, net.image(), 32, 3, "Conv2d_1a_3x3", 2, Padding::valid);
  x = torch_basic_conv(net, x, 32, 3, "Conv2d_2a_3x3", 1, Padding::valid);
  x = torch_basic_conv(net, x, 64, 3, "Conv2d_2b_3x3");
  x = net.max_pool(x, 3, {.name = "maxpool1"});
  x = torch_basic_conv(net, x, 80, 1, "Conv2d_3b_1x1");
  x = torch_basic_conv(net, x, 192, 3, "Conv2d_4a_3x3", 1, Padding::valid);
  x = net.max_pool(x, 3, {.name = "maxpool2"});
  x = MixedBlock{net, "Mixed_5b"}.a(x, 32);
  x = MixedBlock{net, "Mixed_5c"}.a(x, 64);
  x = MixedBlock{net, "Mixed_5d"}.a(x, 64);
  x = MixedBlock{net, "Mixed_6a"}.b(x);
  x = MixedBlock{net, "Mixed_6b"}.c(x, 128);
  x = MixedBlock{net, "Mixed_6c"}.c(x, 160);
  x = MixedBlock{net, "Mixed_6d"}.c(x, 160);
  x = MixedBlock{net, "Mixed_6e"}.c(x, 192);
  x = MixedBlock{net, "Mixed_7a"}.d(x);
  x = MixedBlock{net, "Mixed_7b"}.e(x);
  x = MixedBlock{net, "Mixed_7c"}.e(x);
  x = net.global_average_pool(x, "avgpool");
  x = net.dropout(x, options.dropout >= 0 ? options.dropout : 0.5, "dropout");
  return {net.dense(x, options.classes, "fc")};
}

}  // namespace plimsoll::zoo
