#include "zoo/zoo.h"

#include "base/error.h"
#include "base/text.h"

namespace plimsoll::zoo {

namespace {

// Rates of detectors are for 16 images a step, as their authors give them.
Recipe detector_recipe(const char* optimizer, double lr, double body_lr = 1) {
  return {.optimizer = optimizer,
          .lr = lr,
          .lr_batch = 16,
          .schedule = "cosine",
          .warmup = 1000,
          .augment = "horizontal_flip",
          .body_lr = body_lr};
}

}  // namespace

const std::vector<Network>& networks() {
  static const std::vector<Network> all = {
      {"inception_v3", "Szegedy et al. 2015, as in Keras", 299, 3, 1000, "tf", inception_v3},
      {"xception", "Chollet 2016, as in Keras", 299, 3, 1000, "tf", xception},
      {"googlenet", "Inception-v1 with BatchNorm, Szegedy et al. 2014", 224, 3, 1000, "tf",
       googlenet},
      {"inception_resnet_v2", "Szegedy et al. 2016, as in Keras", 299, 3, 1000, "tf",
       inception_resnet_v2},
      {"resnet50", "He et al. 2015, as in Keras", 224, 3, 1000, "caffe", resnet50},
      {"mobilenet", "Howard et al. 2017, as in Keras", 224, 3, 1000, "tf", mobilenet},
      {"mobilenet_v2", "Sandler et al. 2018, as in Keras", 224, 3, 1000, "tf", mobilenet_v2},
      {"efficientnet_lite0", "Tan and Le 2019 for small machines; ImageNet weights by pip", 224, 3,
       1000, "tf", efficientnet_lite0},
      {"efficientnet_lite1", "the same, deeper", 240, 3, 1000, "tf", efficientnet_lite1},
      {"efficientnet_lite2", "the same, wider and deeper", 260, 3, 1000, "tf", efficientnet_lite2},
      {"resnet50_torch", "He et al. 2015, as in torchvision", 224, 3, 1000, "torch",
       resnet50_torch},
      {"inception_v3_torch", "Szegedy et al. 2015, as in torchvision", 299, 3, 1000, "tf",
       inception_v3_torch},
      {"mobilenet_v2_torch", "Sandler et al. 2018, as in torchvision", 224, 3, 1000, "torch",
       mobilenet_v2_torch},
      {"googlenet_torch", "Szegedy et al. 2014, as in torchvision", 224, 3, 1000, "tf",
       googlenet_torch},
      {"resnet_v1_50", "He et al. 2015, as in TF-Slim", 224, 3, 1000, "slim", resnet_v1_50},
      {"vgg16", "Simonyan and Zisserman 2014, as in Keras", 224, 3, 1000, "caffe", vgg16},
      {"inception_mini", "three Inception blocks for small images", 28, 1, 10, "tf",
       inception_mini},
      {"xception_mini", "a small Xception for images from 32 up", 96, 3, 10, "tf", xception_mini},
      {"resnet20", "He et al. 2015, the CIFAR network", 32, 3, 10, "tf", resnet20},
      {"retinanet_r50",
       "detector, Lin et al. 2017 with ResNet-50, as in torchvision",
       800,
       3,
       90,
       "torch",
       retinanet_r50,
       32,
       {"backbone.body.*"},
       detector_recipe("sgd", 0.01)},
      {"retinanet_lite0",
       "detector on efficientnet_lite0, to start from its weights",
       {320, 416},
       3,
       20,
       "tf",
       retinanet_lite0,
       24,
       {"stem_*", "block*"},
       detector_recipe("adam", 0.002, 0.1)},
      {"retinanet_mini",
       "small detector that learns from nothing",
       {192, 256},
       3,
       20,
       "tf",
       retinanet_mini,
       16,
       {"backbone.body.*"},
       detector_recipe("adam", 0.002)},
      {"fasterrcnn_r50",
       "detector of two stages, Ren et al. 2015 with ResNet-50, as in torchvision",
       800,
       3,
       90,
       "torch",
       fasterrcnn_r50,
       32,
       {"backbone.body.*"},
       detector_recipe("sgd", 0.02),
       true},
      {"fasterrcnn_mini",
       "small detector of two stages that learns from nothing",
       {192, 256},
       3,
       20,
       "tf",
       fasterrcnn_mini,
       16,
       {"backbone.body.*"},
       detector_recipe("adam", 0.002),
       true},
  };
  return all;
}

const Network* find_known(std::string_view name) {
  for (const Network& network : networks())
    if (network.name == name) return &network;
  return nullptr;
}

const Network& find_network(std::string_view name) {
  if (const Network* known = find_known(name)) return *known;
  std::vector<std::string_view> names;
  for (const Network& network : networks()) names.push_back(network.name);
  throw UsageError({.where = "--model",
                    .got = "there is no network '" + std::string(name) + "'",
                    .expected = "expected a name that `plimsoll summary --list` prints",
                    .hint = did_you_mean(nearest(name, names))});
}

}  // namespace plimsoll::zoo
