// Networks by name.
#pragma once

#include <functional>
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

// How a network is trained where nothing else is asked for.
struct Recipe {
  std::string optimizer = "sgd";
  double lr = 0.01;
  std::int64_t lr_batch = 0;  // the rate is for so many images a step, and grows with them; 0: not
  std::string schedule = "constant";
  std::int64_t warmup = 0;   // steps, but at most a tenth of all
  std::string augment = {};  // words of --augment
  double body_lr = 1;        // of a body that begins with weights, times the rate
};

struct Network {
  std::string name;
  std::string about;
  nn::Size2 image;        // the size it was made for
  std::int64_t channels;  // of its usual input
  std::int64_t classes;
  std::string preprocessing;  // how its published weights want pictures: Normalisation's modes
  std::function<Heads(nn::Builder& net, const Options& options)> build;
  // Of detectors: the side in pixels of the smallest square anchor of the finest level, which
  // doubles from level to level. 0: it classifies.
  std::int64_t anchor_base = 0;
  // Patterns of the layers before the heads, where that is more than all but the last layer.
  std::vector<std::string> body = {};
  Recipe recipe = {};
  // Of detectors: a second stage looks at regions that the first proposes.
  bool two_stages = false;
};

const std::vector<Network>& networks();

// Null if there is none.
const Network* find_known(std::string_view name);
// Throws UsageError that offers the nearest name.
const Network& find_network(std::string_view name);

Heads efficientnet_lite0(nn::Builder& net, const Options& options);
Heads efficientnet_lite1(nn::Builder& net, const Options& options);
Heads efficientnet_lite2(nn::Builder& net, const Options& options);
Heads fasterrcnn_mini(nn::Builder& net, const Options& options);
Heads fasterrcnn_r50(nn::Builder& net, const Options& options);
Heads googlenet(nn::Builder& net, const Options& options);
Heads googlenet_torch(nn::Builder& net, const Options& options);
Heads inception_mini(nn::Builder& net, const Options& options);
Heads inception_resnet_v2(nn::Builder& net, const Options& options);
Heads inception_v3(nn::Builder& net, const Options& options);
Heads inception_v3_torch(nn::Builder& net, const Options& options);
Heads mobilenet(nn::Builder& net, const Options& options);
Heads mobilenet_v2(nn::Builder& net, const Options& options);
Heads mobilenet_v2_torch(nn::Builder& net, const Options& options);
Heads resnet20(nn::Builder& net, const Options& options);
Heads resnet50(nn::Builder& net, const Options& options);
Heads resnet50_torch(nn::Builder& net, const Options& options);
Heads resnet_v1_50(nn::Builder& net, const Options& options);
Heads retinanet_lite0(nn::Builder& net, const Options& options);
Heads retinanet_mini(nn::Builder& net, const Options& options);
Heads retinanet_r50(nn::Builder& net, const Options& options);
Heads vgg16(nn::Builder& net, const Options& options);
Heads xception(nn::Builder& net, const Options& options);
Heads xception_mini(nn::Builder& net, const Options& options);

}  // namespace plimsoll::zoo
