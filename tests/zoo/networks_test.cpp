// Every network of the zoo: parameter counts, Keras's order of layers, kernels that serve it.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "exec/jobs.h"
#include "ops/table.h"
#include "step/step_graph.h"
#include "tests/support/complaints.h"
#include "tests/support/zoo_trainer.h"
#include "zoo/zoo.h"

namespace plimsoll {
namespace {

StepGraph training_step(const zoo::Network& network, const zoo::Options& options) {
  const nn::Input input{.batch = 2, .channels = network.channels, .image = network.image};
  const auto build = [&](nn::Builder& net) { return network.build(net, options); };
  return training_graph(op_table(), input, build, *task_of(network, options.classes), 0, {});
}

std::int64_t parameter_count(const StepGraph& step) {
  std::int64_t count = 0;
  for (const nn::Parameter& parameter : step.parameters) count += parameter.spec.shape.elements();
  return count;
}

TEST(Zoo, ParameterCountsAreKeras) {
  const std::map<std::string, std::int64_t> expected = {
      {"inception_v3", 23851784}, {"xception", 22910480}, {"inception_resnet_v2", 55873736},
      {"resnet50", 25636712},     {"mobilenet", 4253864}, {"mobilenet_v2", 3538984},
      {"vgg16", 138357544},       {"googlenet", 7020392},
  };
  for (const auto& [name, count] : expected)
    EXPECT_EQ(parameter_count(training_step(zoo::find_network(name), {})), count) << name;
}

// Gamma and beta counted, running statistics not.
std::int64_t trained_count(const std::string& name, std::int64_t classes) {
  std::int64_t count = 0;
  for (const nn::Parameter& parameter :
       training_step(zoo::find_network(name), {.classes = classes}).parameters)
    if (parameter.trainable) count += parameter.spec.shape.elements();
  return count;
}

// Without gamma and beta torchvision publishes 34,014,999 and 41,755,286 at 91 columns, one of them
// the background, which a second stage has here, too.
TEST(Zoo, DetectorsHaveAsManyParametersAsTorchvisions) {
  for (const std::int64_t classes : {1, 90, 91})
    EXPECT_EQ(trained_count("retinanet_r50", classes), 32'127'204 + 20'745 * classes + 53'120);
  EXPECT_EQ(trained_count("retinanet_r50", 91), 34'014'999 + 53'120);
  EXPECT_EQ(trained_count("retinanet_mini", 3), 1'622'543);
  EXPECT_EQ(trained_count("retinanet_lite0", 3), 3'284'095);
  for (const std::int64_t classes : {1, 90})
    EXPECT_EQ(trained_count("fasterrcnn_r50", classes),
              41'288'911 + 5'125 * (classes + 1) + 53'120);
  EXPECT_EQ(trained_count("fasterrcnn_r50", 90), 41'755'286 + 53'120);
  EXPECT_EQ(trained_count("fasterrcnn_mini", 3), 2'389'427);
}

bool is_of_heads(std::string_view layer) {
  for (const char* prefix : {"backbone.fpn.", "head.", "rpn.", "roi_heads."})
    if (layer.starts_with(prefix)) return true;
  return false;
}

// A detector of this classifier's body.
void expect_same_body(const char* classifier, const char* detector, const std::string& prefix) {
  const auto parameters = [](const char* name) {
    return training_step(zoo::find_network(name), {.classes = 2}).parameters;
  };
  std::map<std::string, Shape> ours;
  for (const nn::Parameter& parameter : parameters(detector))
    ours.emplace(parameter.name, parameter.spec.shape);
  std::size_t found = 0;
  for (const nn::Parameter& parameter : parameters(classifier)) {
    const auto same = ours.find(prefix + parameter.name);
    if (same == ours.end()) continue;
    EXPECT_EQ(same->second, parameter.spec.shape) << parameter.name;
    ++found;
  }
  std::size_t body = 0;
  for (const auto& [name, shape] : ours)
    if (!is_of_heads(name)) ++body;
  EXPECT_EQ(found, body) << detector;
}

TEST(Zoo, DetectorsHaveTheLayersOfTheirClassifiers) {
  expect_same_body("resnet50_torch", "retinanet_r50", "backbone.body.");
  expect_same_body("resnet50_torch", "fasterrcnn_r50", "backbone.body.");
  expect_same_body("efficientnet_lite0", "retinanet_lite0", "");
}

TEST(Zoo, PatternsOfABodyMatchItAlone) {
  for (const zoo::Network& network : zoo::networks()) {
    EXPECT_EQ(network.body.empty(), network.anchor_base == 0) << network.name;
    if (network.body.empty()) continue;
    for (const nn::Layer& layer : training_step(network, {.classes = 2}).layers) {
      if (layer.parameters.empty()) continue;
      const bool matched =
          std::any_of(network.body.begin(), network.body.end(),
                      [&](const std::string& pattern) { return matches(pattern, layer.name); });
      EXPECT_NE(matched, is_of_heads(layer.name)) << network.name << " " << layer.name;
    }
  }
}

TEST(Zoo, DetectorsBeginAsTorchvisions) {
  std::map<std::string, nn::Init> starts;
  for (const nn::Parameter& parameter :
       training_step(zoo::find_network("retinanet_r50"), {.classes = 7}).parameters)
    starts.emplace(parameter.name, parameter.init);
  using Kind = nn::Init::Kind;
  EXPECT_EQ(starts.at("backbone.body.conv1/kernel").kind, Kind::he_normal_fan_out);
  EXPECT_EQ(starts.at("backbone.body.conv1/kernel").fan_out, 64 * 49);
  EXPECT_EQ(starts.at("backbone.fpn.extra_blocks.p6/kernel").kind, Kind::lecun_uniform);
  EXPECT_EQ(starts.at("backbone.fpn.extra_blocks.p6/kernel").fan_in, 256 * 9);
  for (const std::string name :
       {"head.classification_head.conv.3.0/kernel", "head.classification_head.cls_logits/kernel",
        "head.regression_head.bbox_reg/kernel"}) {
    EXPECT_EQ(starts.at(name).kind, Kind::normal) << name;
    EXPECT_EQ(starts.at(name).scale, 0.01) << name;
  }
  const nn::Init& prior = starts.at("head.classification_head.cls_logits/bias");
  EXPECT_EQ(prior.kind, Kind::constant);
  EXPECT_NEAR(prior.scale, -4.59512, 1e-5);
  EXPECT_EQ(starts.at("head.regression_head.bbox_reg/bias").kind, Kind::zeros);
}

TEST(Zoo, SecondStagesBeginAsTorchvisions) {
  std::map<std::string, nn::Init> starts;
  for (const nn::Parameter& parameter :
       training_step(zoo::find_network("fasterrcnn_r50"), {.classes = 7}).parameters)
    starts.emplace(parameter.name, parameter.init);
  using Kind = nn::Init::Kind;
  for (const std::string name :
       {"rpn.head.conv.0.0/kernel", "rpn.head.cls_logits/kernel", "rpn.head.bbox_pred/kernel"}) {
    EXPECT_EQ(starts.at(name).kind, Kind::normal) << name;
    EXPECT_EQ(starts.at(name).scale, 0.01) << name;
  }
  EXPECT_EQ(starts.at("rpn.head.cls_logits/bias").kind, Kind::zeros);
  for (const std::string weight : {"/kernel", "/bias"}) {
    EXPECT_EQ(starts.at("roi_heads.box_head.fc6" + weight).kind, Kind::torch_uniform) << weight;
    EXPECT_EQ(starts.at("roi_heads.box_head.fc6" + weight).fan_in, 256 * 49) << weight;
    EXPECT_EQ(starts.at("roi_heads.box_predictor.bbox_pred" + weight).fan_in, 1024) << weight;
  }
}

TEST(Zoo, LevelsOfADetectorHaveTheirStrides) {
  for (const zoo::Network& network : zoo::networks()) {
    if (network.anchor_base == 0) continue;
    nn::Builder net(op_table(), {.image = {128, 256}}, nn::Mode::inference);
    const nn::Heads heads = network.build(net, {.classes = 7});
    ASSERT_GE(heads.levels.size(), 3U);
    const bool is_double = bool(heads.second.scores);
    const std::int64_t anchors = is_double ? 3 : 9, scores = is_double ? 1 : 7;
    std::int64_t stride = is_double ? 4 : 8;
    for (const nn::Level& level : heads.levels) {
      const std::int64_t rows = 128 / stride, columns = 256 / stride;
      EXPECT_EQ(net.spec(level.scores).shape, (Shape{1, anchors * scores, rows, columns}));
      EXPECT_EQ(net.spec(level.deltas).shape, (Shape{1, anchors * 4, rows, columns}));
      EXPECT_EQ(net.spec(level.features).shape[2], rows);
      stride *= 2;
    }
    if (!is_double) continue;
    EXPECT_EQ(heads.second.features.size(), 4U);
    EXPECT_EQ(net.spec(heads.second.scores).shape[1], 8);
    EXPECT_EQ(net.spec(heads.second.deltas).shape[1], 32);
  }
}

TEST(Zoo, ACanvasThatAPyramidCannotHalveIsRefused) {
  nn::Builder net(op_table(), {.image = {192, 250}}, nn::Mode::inference);
  EXPECT_COMPLAINT(zoo::retinanet_mini(net, {.classes = 3}), UsageError, "try 192x256");
}

TEST(Zoo, NoNetworkFallsToASlowPath) {
  for (const zoo::Network& network : zoo::networks()) {
    StepGraph step = training_step(network, {.classes = network.classes});
    const std::vector<PreparedNode> prepared = prepare_nodes(step.tape.graph);
    for (std::size_t n = 0; n < prepared.size(); ++n) {
      const OpDef& op = *step.tape.graph.nodes()[n].op;
      const bool heavy = op.arithmetic != Arithmetic::none || op.form == Form::normalisation ||
                         op.absorbs.gradient_sum || op.name.ends_with("pool");
      if (!heavy) continue;
      EXPECT_NE(prepared[n].kernel_name(), "ref")
          << network.name << " " << step.tape.graph.nodes()[n].name;
    }
  }
}

TEST(Zoo, ConcatIsNeverACopy) {
  for (const char* name : {"inception_v3", "googlenet", "inception_mini"}) {
    const zoo::Network& network = zoo::find_network(name);
    StepGraph step = training_step(network, {.classes = network.classes});
    const std::vector<PreparedNode> prepared = prepare_nodes(step.tape.graph);
    for (std::size_t n = 0; n < prepared.size(); ++n) {
      if (step.tape.graph.nodes()[n].op->view == ViewKind::none) continue;
      EXPECT_EQ(prepared[n].kernel_name(), "view")
          << name << " " << step.tape.graph.nodes()[n].name;
    }
  }
}

// The golden file lists gradients in the order of Keras's model.layers.
TEST(Zoo, LayersComeInKerasOrder) {
  for (const char* name : {"inception_v3", "xception", "resnet50", "mobilenet_v2"}) {
    std::ifstream file(std::string(PLIMSOLL_TESTS_DIR) + "/golden/" + name + ".json");
    const auto golden = nlohmann::ordered_json::parse(file);
    std::vector<std::string> expected;
    for (const auto& [key, value] : golden["gradients"].items()) expected.push_back(key);
    std::vector<std::string> ours;
    for (const nn::Parameter& parameter : training_step(zoo::find_network(name), {}).parameters)
      if (parameter.trainable) ours.push_back(parameter.name);
    EXPECT_EQ(ours, expected) << name;
  }
}

TEST(Zoo, TheAuxiliaryHeadIsSlims) {
  const zoo::Network& network = zoo::find_network("inception_v3");
  const std::int64_t without = parameter_count(training_step(network, {}));
  const std::int64_t with = parameter_count(training_step(network, {.auxiliary = true}));
  // 1x1 to 128, 5x5 to 768, BatchNorms without scale, a head of 1000 classes.
  EXPECT_EQ(with - without, 768 * 128 + 3 * 128 + 128 * 768 * 25 + 3 * 768 + 768 * 1000 + 1000);
}

TEST(Zoo, AnUnknownNameIsOfferedTheNearest) {
  EXPECT_COMPLAINT(zoo::find_network("xceptoin"), UsageError, "did you mean 'xception'?");
}

}  // namespace
}  // namespace plimsoll
