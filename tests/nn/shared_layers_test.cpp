// Layers that are called several times: parameters once, gradients of all calls.
#include <gtest/gtest.h>

#include <map>

#include "base/random.h"
#include "nn/nn.h"
#include "ops/table.h"
#include "step/trainer.h"
#include "tensor/convert.h"
#include "tests/support/complaints.h"

namespace plimsoll {
namespace {

// A tower called three times, once on its own output; or three towers of the same shape.
nn::Heads levels(nn::Builder& net, bool shared) {
  if (shared) net.share("tower");
  int number = 0;
  const auto tower = [&](ValueId x) {
    const std::string name = shared ? "tower" : "tower" + std::to_string(number++);
    return net.conv2d(x, 8, 3, {.activation = "relu", .name = name});
  };
  const ValueId x = net.conv2d(net.image(), 8, 3, {.name = "stem"});
  const ValueId large = net.global_average_pool(tower(tower(x)), "large");
  const ValueId small = net.global_average_pool(tower(net.max_pool(x, 2)), "small");
  return {net.dense(net.add({large, small}), 4, "head")};
}

// How far one step moves each weight, which starts as its name says, the towers' numbers left out.
std::map<std::string, std::vector<double>> moves(bool shared) {
  Trainer trainer(op_table(), [=](nn::Builder& net) { return levels(net, shared); },
                  {.input = {.batch = 2, .image = 8},
                   .train_batches = {2},
                   .optimizer = {.name = "sgd", .momentum = 0}});
  trainer.open();
  const std::vector<NamedTensor> weights = weight_tensors(trainer.session(), trainer.step_graph());
  std::map<std::string, std::vector<float>> before;
  for (const NamedTensor& weight : weights) {
    const bool tower = weight.name.starts_with("tower");
    const std::string name =
        tower ? "tower" + weight.name.substr(weight.name.find('/')) : weight.name;
    std::vector<float>& values = before[weight.name];
    for (std::int64_t i = 0; i < weight.view.spec.shape.elements(); ++i)
      values.push_back(
          static_cast<float>(0.2 * signed_unit(fnv1a64(name), static_cast<std::uint64_t>(i))));
    write_elements(weight.view, 0, values);
  }
  const TensorView image = trainer.image(Purpose::train, 2);
  for (std::int64_t i = 0; i < image.spec.shape.elements(); ++i)
    image.as<float>()[i] = static_cast<float>((i * 7919) % 101) / 50.0F - 1;
  for (std::int64_t n = 0; n < 2; ++n)
    trainer.tensors(Purpose::train, 2).at("label").at<std::int32_t>(n) =
        static_cast<std::int32_t>(n);
  trainer.train_step(2, 1.0F, 0, 0);
  std::map<std::string, std::vector<double>> moved;
  for (const NamedTensor& weight : weights) {
    std::vector<float> after(before[weight.name].size());
    read_elements(weight.view, 0, after);
    for (std::size_t i = 0; i < after.size(); ++i)
      moved[weight.name].push_back(static_cast<double>(after[i] - before[weight.name][i]));
  }
  return moved;
}

TEST(SharedLayers, HaveTheirParametersOnce) {
  nn::Builder net(op_table(), {.image = 8}, nn::Mode::training);
  const nn::Heads heads = levels(net, true);
  const std::vector<nn::Layer> layers =
      nn::in_keras_order(net.layers(), {net.source_of(heads.logits)});
  const auto tower = std::find_if(layers.begin(), layers.end(),
                                  [](const nn::Layer& layer) { return layer.name == "tower"; });
  ASSERT_NE(tower, layers.end());
  EXPECT_EQ(tower->calls.size(), 3U);
  EXPECT_EQ(tower->parameters.size(), 2U);
  EXPECT_EQ(tower->calls[1].inputs[0].layer, static_cast<std::size_t>(tower - layers.begin()));
  EXPECT_EQ(tower->calls[1].inputs[0].call, 0U);
}

TEST(SharedLayers, LearnFromAllTheirCalls) {
  auto together = moves(true), apart = moves(false);
  for (const char* weight : {"/kernel", "/bias"}) {
    const std::vector<double>& sum = together.at(std::string("tower") + weight);
    for (std::size_t i = 0; i < sum.size(); ++i) {
      double expected = 0;
      for (const char* tower : {"tower0", "tower1", "tower2"})
        expected += apart.at(std::string(tower) + weight)[i];
      EXPECT_NEAR(sum[i], expected, 1e-5) << weight << " at " << i;
    }
  }
}

TEST(SharedLayers, MustBeAskedForAndAlike) {
  nn::Builder net(op_table(), {.image = 8}, nn::Mode::training);
  const ValueId x = net.conv2d(net.image(), 8, 3, {.name = "a"});
  EXPECT_COMPLAINT(net.conv2d(x, 8, 3, {.name = "a"}), UsageError, "two layers have this name");
  net.share("a");
  EXPECT_COMPLAINT(net.conv2d(x, 9, 3, {.name = "a"}), UsageError, "two different layers");
  // Three channels at first, then eight.
  EXPECT_COMPLAINT(net.conv2d(x, 8, 3, {.name = "a"}), UsageError, "a later call of the layer");
}

TEST(SharedLayers, BatchNormMustBeFrozenToBeTrainedWith) {
  const auto build = [](nn::Builder& net) {
    net.share("bn");
    const ValueId x = net.conv2d(net.image(), 8, 3);
    return net.batch_norm(net.batch_norm(x, {.name = "bn"}), {.name = "bn"});
  };
  nn::Builder training(op_table(), {.image = 8}, nn::Mode::training);
  EXPECT_COMPLAINT(build(training), UsageError, "freeze this layer");
  nn::Builder frozen(op_table(), {.image = 8}, nn::Mode::training,
                     [](std::string_view layer) { return layer == "bn"; });
  EXPECT_NO_THROW(build(frozen));
  nn::Builder inference(op_table(), {.image = 8}, nn::Mode::inference);
  EXPECT_NO_THROW(build(inference));
}

// A step finds these by name.
TEST(Builder, LayersMayHaveTheNamesOfAStepsValues) {
  const auto build = [](nn::Builder& net) {
    const ValueId x = net.conv2d(net.image(), 8, 3, {.name = "loss"});
    const ValueId y = net.global_average_pool(net.relu(x, "image"), "label");
    return nn::Heads{net.dense(net.dense(y, 8, "logits"), 3, "lr")};
  };
  Trainer trainer(
      op_table(), build,
      {.input = {.batch = 2, .image = 8}, .train_batches = {2}, .evaluate_batches = {2}});
  trainer.open();
  EXPECT_EQ(trainer.logits(Purpose::train, 2).spec.shape, (Shape{2, 3}));
  EXPECT_GT(trainer.train_step(2, 0.1F, 0, 0).loss, 0);
}

}  // namespace
}  // namespace plimsoll
