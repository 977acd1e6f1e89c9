// Names of other programs' layers: which network of the zoo they are, and that every layer finds
// its own.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "interop/match.h"
#include "interop/readers.h"
#include "ops/table.h"
#include "tests/interop/torch_files.h"
#include "tests/support/listed_tensors.h"
#include "zoo/zoo.h"

namespace plimsoll {
namespace {

using interop::ImportedFile;

std::vector<nn::Layer> classifier_layers(const std::string& network) {
  nn::Builder net(op_table(), {.image = 299}, nn::Mode::inference);
  zoo::find_network(network).build(net, {});
  return net.layers();
}

void expect_classifier_matched(const ImportedFile& file) {
  const std::vector<nn::Layer> layers = classifier_layers(file.network);
  const interop::Matching matching = interop::match(file, layers);
  for (const interop::Mismatch& mismatch : matching.mismatches)
    ADD_FAILURE() << mismatch.ours << " | " << mismatch.theirs;
  EXPECT_EQ(matching.head_width, 1000);
}

TEST(NetworkNames, OfTorchvisionAreFound) {
  for (const std::string network :
       {"resnet50_torch", "inception_v3_torch", "mobilenet_v2_torch", "googlenet_torch"}) {
    SCOPED_TRACE(network);
    std::vector<StoredTensor> tensors = torch_tensors(classifier_layers(network));
    tensors.push_back({.name = "AuxLogits.fc.weight", .shape = {1000, 768}});
    std::ranges::sort(tensors, {}, &StoredTensor::name);  // as safetensors has them
    ImportedFile file{.tensors = std::make_shared<tests::ListedTensors>(tensors)};
    interop::name_torch_layers(file);
    ASSERT_EQ(file.network, network);
    EXPECT_EQ(file.others, std::vector<std::string>{"AuxLogits.fc.weight"});
    expect_classifier_matched(file);
  }
}

TEST(NetworkNames, OfADeeperResnetAreNotTheSmallerOnes) {
  std::vector<StoredTensor> tensors = torch_tensors(classifier_layers("resnet50_torch"));
  tensors.push_back({.name = "layer3.6.conv2.weight", .shape = {256, 256, 3, 3}});
  ImportedFile file{.tensors = std::make_shared<tests::ListedTensors>(tensors)};
  interop::name_torch_layers(file);
  EXPECT_EQ(file.network, "");
}

// Slim's published file has 1001 classes: all but the head is taken.
TEST(NetworkNames, OfSlimsMobilenetAreFound) {
  std::vector<StoredTensor> tensors = {{.name = "global_step", .shape = {}}};
  const auto add = [&](const std::string& scope, const std::string& weights,
                       std::vector<std::int64_t> shape, std::int64_t filters) {
    tensors.push_back({.name = "MobilenetV1/" + scope + "/" + weights, .shape = std::move(shape)});
    tensors.push_back({.name = tensors.back().name + "/RMSProp", .shape = tensors.back().shape});
    for (const char* word : {"gamma", "beta", "moving_mean", "moving_variance"})
      tensors.push_back(
          {.name = "MobilenetV1/" + scope + "/BatchNorm/" + word, .shape = {filters}});
  };
  add("Conv2d_0", "weights", {3, 3, 3, 32}, 32);
  std::int64_t channels = 32;
  int number = 0;
  for (const std::int64_t filters :
       {64, 128, 128, 256, 256, 512, 512, 512, 512, 512, 512, 1024, 1024}) {
    const std::string scope = "Conv2d_" + std::to_string(++number);
    add(scope + "_depthwise", "depthwise_weights", {3, 3, channels, 1}, channels);
    add(scope + "_pointwise", "weights", {1, 1, channels, filters}, filters);
    channels = filters;
  }
  tensors.push_back(
      {.name = "MobilenetV1/Logits/Conv2d_1c_1x1/weights", .shape = {1, 1, 1024, 1001}});
  tensors.push_back({.name = "MobilenetV1/Logits/Conv2d_1c_1x1/biases", .shape = {1001}});
  ImportedFile file{.tensors = std::make_shared<tests::ListedTensors>(tensors)};
  interop::name_slim_layers(file);
  ASSERT_EQ(file.network, "mobilenet");
  EXPECT_EQ(file.preprocessing, "tf");
  EXPECT_EQ(file.others.size(), 28U);  // a slot for each kernel, and the step
  const interop::Matching matching = interop::match(file, classifier_layers("mobilenet"));
  EXPECT_EQ(matching.mismatches.size(), 2U);
  EXPECT_TRUE(matching.replaces_head);
  EXPECT_EQ(matching.head_width, 1001);
}

TEST(NetworkNames, OfSlimsResnetAreFound) {
  std::vector<StoredTensor> tensors;
  for (const nn::Layer& layer : classifier_layers("resnet_v1_50"))
    for (const nn::Parameter& parameter : layer.parameters) {
      const std::vector<std::int64_t> shape(parameter.spec.shape.begin(),
                                            parameter.spec.shape.end());
      const std::string word = parameter.name.substr(parameter.name.rfind('/') + 1);
      // "block1_unit_2_conv3_bn" as "block1/unit_2/bottleneck_v1/conv3/BatchNorm".
      std::string scope = layer.name;
      const bool is_norm = scope.ends_with("_bn");
      if (is_norm) scope.resize(scope.size() - 3);
      if (scope.starts_with("block")) {
        scope.replace(scope.find("_unit_"), 1, "/");
        scope.replace(scope.rfind('_'), 1, "/bottleneck_v1/");
      }
      if (is_norm) scope += "/BatchNorm";
      StoredTensor tensor{.name = "resnet_v1_50/" + scope + "/" + word, .shape = shape};
      if (word == "kernel") {
        tensor.name = "resnet_v1_50/" + scope + "/weights";
        if (shape.size() == 2)
          tensor.shape = {1, 1, shape[0], shape[1]};
        else
          tensor.shape = {shape[2], shape[3], shape[1], shape[0]};
      } else if (word == "bias") {
        tensor.name = "resnet_v1_50/" + scope + "/biases";
      }
      tensors.push_back(tensor);
    }
  ImportedFile file{.tensors = std::make_shared<tests::ListedTensors>(tensors)};
  interop::name_slim_layers(file);
  ASSERT_EQ(file.network, "resnet_v1_50");
  EXPECT_EQ(file.preprocessing, "slim");
  EXPECT_TRUE(file.others.empty());
  expect_classifier_matched(file);
}

}  // namespace
}  // namespace plimsoll
