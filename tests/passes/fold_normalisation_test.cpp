// bn_apply before a depthwise convolution vanishes where nothing else reads it, and no bit changes.
#include <gtest/gtest.h>

#include "ops/table.h"
#include "passes/passes.h"

namespace plimsoll {
namespace {

// y -> bn_apply -> depthwise_conv2d, and what else a test adds.
struct Network {
  Graph graph{op_table()};
  ValueId y, z, out, w;
  Values parameters;

  explicit Network(Attrs bn = {{"activation", std::string("relu")}}, bool residual = false) {
    y = graph.add_value("y", blocked(2, 16, 6, 5), Role::input);
    w = graph.add_value("w", {.shape = {16, 1, 3, 3}, .layout = Layout::depth_kernel},
                        Role::parameter);
    for (const char* name : {"mean", "variance", "gamma", "beta"})
      parameters.push_back(graph.add_value(name, plain({16}), Role::input));
    Values in{y};
    in.insert(in.end(), parameters.begin(), parameters.end());
    if (residual) in.push_back(graph.add_value("side", graph.spec(y), Role::input));
    z = graph.call1("bn_apply", in, bn, "bn");
    out = graph.call1("depthwise_conv2d", {z, w}, {{"pads", Ints{1, 1, 1, 1}}}, "dw");
  }

  std::vector<std::string> folded_ops() {
    std::vector<std::string> names;
    const Graph folded = fold_normalisation(graph, {&out});
    for (const Node& node : folded.nodes()) names.push_back(node.op->name);
    return names;
  }
};

using Names = std::vector<std::string>;

TEST(FoldNormalisation, LeavesOneNodeOfTwo) {
  EXPECT_EQ(Network().folded_ops(), Names{"bn_depthwise_conv2d"});
}

TEST(FoldNormalisation, ServesTheGradientOfTheWeightsToo) {
  Network net;
  const ValueId dy = net.graph.add_value("dy", net.graph.spec(net.out), Role::input);
  net.graph.call1("depthwise_conv2d_grad_kernel", {net.z, dy},
                  {{"pads", Ints{1, 1, 1, 1}}, {"kernel", Ints{3, 3}}}, "dw/grad");
  EXPECT_EQ(net.folded_ops(), (Names{"bn_depthwise_conv2d", "bn_depthwise_conv2d_grad_kernel"}));
}

TEST(FoldNormalisation, KeepsATensorThatSomebodyElseReads) {
  Network net;
  net.graph.call1("activation", {net.z}, {{"kind", std::string("relu")}}, "other");
  EXPECT_EQ(net.folded_ops(), (Names{"bn_apply", "depthwise_conv2d", "activation"}));
}

TEST(FoldNormalisation, KeepsATensorThatTheCallerWants) {
  Network net;
  const Graph folded = fold_normalisation(net.graph, {&net.z, &net.out});
  EXPECT_EQ(folded.nodes().size(), 2U);
}

TEST(FoldNormalisation, KeepsANormalisationWithAResidual) {
  Network net({{"residual", std::int64_t{1}}}, true);
  EXPECT_EQ(net.folded_ops(), (Names{"bn_apply", "depthwise_conv2d"}));
}

TEST(FoldNormalisation, CarriesTheAttributesOfBoth) {
  Network net({{"activation", std::string("relu6")}, {"epsilon", 0.25}});
  const Graph folded = fold_normalisation(net.graph, {&net.out});
  const Attrs& attrs = folded.nodes()[0].attrs;
  EXPECT_EQ(attrs.word("activation"), "relu6");
  EXPECT_EQ(attrs.real("epsilon"), 0.25);
  EXPECT_EQ(attrs.ints("pads"), (Ints{1, 1, 1, 1}));
}

}  // namespace
}  // namespace plimsoll
