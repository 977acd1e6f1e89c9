#include "zoo/zoo.h"

#include "base/error.h"
#include "base/text.h"

namespace plimsoll::zoo {

const std::vector<Network>& networks() {
  static const std::vector<Network> all = {
      {"inception_v3", "Szegedy et al. 2015, as in Keras", 299, 3, 1000, inception_v3},
      {"xception", "Chollet 2016, as in Keras", 299, 3, 1000, xception},
      {"googlenet", "Inception-v1 with BatchNorm, Szegedy et al. 2014", 224, 3, 1000, googlenet},
      {"inception_resnet_v2", "Szegedy et al. 2016, as in Keras", 299, 3, 1000,
       inception_resnet_v2},
      {"resnet50", "He et al. 2015, as in Keras", 224, 3, 1000, resnet50},
      {"mobilenet", "Howard et al. 2017, as in Keras", 224, 3, 1000, mobilenet},
      {"mobilenet_v2", "Sandler et al. 2018, as in Keras", 224, 3, 1000, mobilenet_v2},
      {"vgg16", "Simonyan and Zisserman 2014, as in Keras", 224, 3, 1000, vgg16},
      {"inception_mini", "three Inception blocks for small images", 28, 1, 10, inception_mini},
      {"xception_mini", "a small Xception for images from 32 up", 96, 3, 10, xception_mini},
      {"resnet20", "He et al. 2015, the CIFAR network", 32, 3, 10, resnet20},
  };
  return all;
}

const Network& find_network(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Network& network : networks()) {
    if (network.name == name) return network;
    names.push_back(network.name);
  }
  throw UsageError({.where = "--model",
                    .got = "there is no network '" + std::string(name) + "'",
                    .expected = "expected a name that `plimsoll summary --list` prints",
                    .hint = did_you_mean(nearest(name, names))});
}

}  // namespace plimsoll::zoo
