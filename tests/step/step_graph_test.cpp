// What the graph of a step says about itself: phases, layers, rates of merged weights.
#include "step/step_graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "ops/table.h"
#include "task/classification.h"
#include "tests/support/mini_networks.h"
#include "zoo/zoo.h"

namespace plimsoll {
namespace {

StepGraph step_of(std::string_view name, const Tuning& tuning = {}, const PartRequest& part = {}) {
  const zoo::Network& network = zoo::find_network(name);
  return training_graph(
      op_table(), {.batch = 4, .channels = network.channels, .image = network.image},
      [&](nn::Builder& net) { return network.build(net, {.classes = network.classes}); },
      *make_classification({}), 1e-4, {}, tuning, Fusion::full, part);
}

bool updates(const Node& node) {
  return std::any_of(node.op->in_place.begin(), node.op->in_place.end(),
                     [](const InPlace& rule) { return rule.required; });
}

class StepGraphOf : public testing::TestWithParam<const char*> {};

TEST_P(StepGraphOf, EveryNodeBelongsToALayerOfTheNetworkOrOfTheStep) {
  const StepGraph step = step_of(GetParam());
  std::set<std::string> known{"loss", "correct", "l2", "norm"};
  for (const nn::Layer& layer : step.layers) known.insert(layer.name);
  for (const Node& node : step.tape.graph.nodes())
    EXPECT_TRUE(known.contains(node.layer)) << node.name << " of '" << node.layer << "'";
  for (const Value& value : step.tape.graph.values())
    EXPECT_TRUE(!is_resident(value.role) || known.contains(value.layer)) << value.name;
}

TEST_P(StepGraphOf, PhasesSurviveThePasses) {
  for (const Part part : {Part::whole, Part::early, Part::last}) {
    const Graph graph =
        std::move(step_of(GetParam(), {.average = 0.9}, {.part = part, .slots = 2}).tape.graph);
    verify(graph);
    EXPECT_TRUE(graph.trains());
    EXPECT_EQ(graph.node(graph.value(graph.find("loss")).producer).phase, Phase::loss);
    // Sums over parts of a batch are residents that backward writes.
    for (const Node& node : graph.nodes())
      EXPECT_TRUE(node.phase == Phase::backward || updates(node) == (node.phase == Phase::update))
          << node.name;
    if (part == Part::early) {
      EXPECT_EQ(graph.begin_of(Phase::update), graph.nodes().size());
      continue;
    }
    EXPECT_EQ(graph.node(graph.value(graph.find("norm")).producer).phase, Phase::backward);
    EXPECT_EQ(graph.begin_of(Phase::update) - 1, graph.value(graph.find("norm")).producer.at())
        << "updates come behind the norm, and nothing else does";
  }
}

TEST_P(StepGraphOf, AWholeBatchIsCarriedNowhere) {
  const StepGraph step = step_of(GetParam());
  for (const Value& value : step.tape.graph.values()) {
    EXPECT_NE(value.role, Role::accumulated) << value.name;
    EXPECT_TRUE(value.name != "share" && value.name != "code");
  }
  for (const Node& node : step.tape.graph.nodes())
    EXPECT_TRUE(node.op->name != "carry" && node.op->name != "stow" && !node.op->exchanged)
        << node.name;
}

// So that of an early part no gradient waits for the others.
TEST_P(StepGraphOf, WhatPartsSumIsSummedWhereItIsMade) {
  const Graph graph =
      std::move(step_of(GetParam(), {}, {.part = Part::early, .slots = 2}).tape.graph);
  const std::size_t backward = graph.begin_of(Phase::backward);
  std::size_t stowed = 0;
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.nodes()[n];
    if (node.op->name != "stow") continue;
    ++stowed;
    for (std::size_t between = graph.value(node.in[0]).producer.at() + 1; between < n; ++between)
      EXPECT_TRUE(between < backward || graph.nodes()[between].op->name == "stow")
          << node.name << " waits for " << graph.nodes()[between].name;
  }
  EXPECT_GT(stowed, 4U);
}

INSTANTIATE_TEST_SUITE_P(Mini, StepGraphOf, mini_networks(), network_name);

TEST(StepGraph, OfFrozenBatchNormsTheConvolutionsOutputIsNotKept) {
  Tuning norms;
  for (const nn::Layer& layer : step_of("resnet20").layers)
    if (layer.type == "BatchNormalization") norms.frozen.push_back(layer.name);
  ASSERT_FALSE(norms.frozen.empty());
  const Graph graph = std::move(step_of("resnet20", norms).tape.graph);
  std::set<ValueId> before_norms;
  for (const Node& node : graph.nodes())
    if (node.op->form == Form::normalisation) before_norms.insert(node.in[0]);
  EXPECT_EQ(before_norms.size(), norms.frozen.size());
  for (const Node& node : graph.nodes())
    for (const ValueId in : node.in)
      EXPECT_FALSE(node.phase == Phase::backward && before_norms.contains(in)) << node.name;
}

TEST(StepGraph, MergedWeightsHaveTheRateOfTheirParts) {
  const StepGraph plain = step_of("inception_mini");
  ASSERT_FALSE(plain.merged.empty());
  const std::string whole = plain.merged[0].whole;
  // By layer and by weight; all parts, so that they are still merged.
  for (const bool by_weight : {false, true}) {
    Tuning tuning;
    for (const MergedParameter& merged : plain.merged)
      if (merged.whole == whole)
        tuning.lr_factors.emplace_back(
            by_weight ? merged.part : merged.part.substr(0, merged.part.rfind('/')), 0.5);
    const StepGraph step = step_of("inception_mini", tuning);
    const Graph& graph = step.tape.graph;
    int halved = 0;
    for (const Node& node : graph.nodes()) {
      if (node.phase != Phase::update || node.attrs.find("lr_factor") == nullptr) continue;
      if (graph.value(node.in[0]).name != whole) continue;
      EXPECT_EQ(node.attrs.real("lr_factor"), 0.5);
      ++halved;
    }
    EXPECT_EQ(halved, 1);
  }
}

}  // namespace
}  // namespace plimsoll
