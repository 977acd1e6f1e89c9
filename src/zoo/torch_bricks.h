// Groups of layers as torchvision has them; layers have its modules' names, so that published
// state_dicts find theirs. For the *_torch networks and detectors.
#pragma once

#include <string>

#include "nn/nn.h"

namespace plimsoll::zoo {

// PyTorch's 0.1 is what the batch gives; here it is what stays.
inline constexpr double kTorchMomentum = 0.9;

// Conv2d `conv` without bias, BatchNorm2d `norm`. Padding is half a window unless said otherwise.
struct TorchConv {
  std::int64_t filters = 0;
  nn::Size2 kernel = 1;
  nn::Size2 stride = 1;
  nn::Padding padding = nn::Padding::symmetric;
  double epsilon = 1e-5;
  nn::Start start = {.kind = nn::Init::Kind::glorot_uniform};
};
inline ValueId torch_conv_bn(nn::Builder& net, ValueId x, const TorchConv& options,
                             const std::string& conv, const std::string& norm) {
  x = net.conv2d(x, options.filters, options.kernel,
                 {.stride = options.stride,
                  .padding = options.padding,
                  .bias = false,
                  .name = conv,
                  .kernel_start = options.start});
  return net.batch_norm(x, {.momentum = kTorchMomentum, .epsilon = options.epsilon, .name = norm});
}

// The same as ResNets have it: weights start by what goes out.
inline ValueId resnet_conv_bn(nn::Builder& net, ValueId x, std::int64_t filters,
                              std::int64_t kernel, std::int64_t stride, const std::string& conv,
                              const std::string& norm) {
  return torch_conv_bn(net, x,
                       {.filters = filters,
                        .kernel = kernel,
                        .stride = stride,
                        .start = {.kind = nn::Init::Kind::he_normal_fan_out}},
                       conv, norm);
}

// BasicConv2d of the Inception networks: `name`.conv, `name`.bn, relu.
inline ValueId torch_basic_conv(nn::Builder& net, ValueId x, std::int64_t filters, nn::Size2 kernel,
                                const std::string& name, nn::Size2 stride = 1,
                                nn::Padding padding = nn::Padding::symmetric) {
  x = torch_conv_bn(
      net, x,
      {.filters = filters, .kernel = kernel, .stride = stride, .padding = padding, .epsilon = 1e-3},
      name + ".conv", name + ".bn");
  return net.relu(x, name + ".relu");
}

}  // namespace plimsoll::zoo
