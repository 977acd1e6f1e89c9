// Networks by name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "nn/nn.h"

namespace plimsoll::zoo {

struct Options {
  std::int64_t classes = 1000;
  double dropout = -1;     // below 0: the network's own rate
  bool auxiliary = false;  // a second head in the middle, where the network has one
};

using nn::Heads;

struct Network {
  std::string_view name;
  std::string_view about;
  std::int64_t image;     // the size it was made for
  std::int64_t channels;  // of its usual input
  std::int64_t classes;
  Heads (*build)(nn::Builder& net, const Options& options);
};

const std::vector<Network>& networks();

// Throws UsageError that offers the nearest name.
const Network& find_network(std::string_view name);

Heads googlenet(nn::Builder& net, const Options& options);
Heads inception_mini(nn::Builder& net, const Options& options);
Heads inception_resnet_v2(nn::Builder& net, const Options& options);
Heads inception_v3(nn::Builder& net, const Options& options);
Heads mobilenet(nn::Builder& net, const Options& options);
Heads mobilenet_v2(nn::Builder& net, const Options& options);
Heads resnet20(nn::Builder& net, const Options& options);
Heads resnet50(nn::Builder& net, const Options& options);
Heads vgg16(nn::Builder& net, const Options& options);
Heads xception(nn::Builder& net, const Options& options);
Heads xception_mini(nn::Builder& net, const Options& options);

}  // namespace plimsoll::zoo
