// Every network of the zoo: parameter counts, Keras's order of layers, kernels that serve it.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "exec/jobs.h"
#include "ops/table.h"
#include "step/step_graph.h"
#include "task/classification.h"
#include "tests/support/complaints.h"
#include "zoo/zoo.h"

namespace plimsoll {
namespace {

StepGraph training_step(const zoo::Network& network, const zoo::Options& options) {
  const nn::Input input{.batch = 2, .channels = network.channels, .image = network.image};
  const auto build = [&](nn::Builder& net) { return network.build(net, options); };
  return training_graph(op_table(), input, build, *make_classification({}), 0, {});
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
