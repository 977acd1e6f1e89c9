#include "autodiff/autodiff.h"

#include <gtest/gtest.h>

#include "ops/table.h"
#include "tests/support/complaints.h"
#include "tests/support/finite_differences.h"
#include "tests/support/small_graph.h"

namespace plimsoll {
namespace {

// Checks all gradients of a scalar loss by differences; everything is f64, filled by rule.
void check(Graph& graph, ValueId loss, const std::vector<Gradient>& gradients,
           std::size_t forward) {
  Differentiated pair{.forward = forward, .outputs = {{loss, {1.0}}}};
  for (const Gradient& gradient : gradients) {
    EXPECT_EQ(graph.value(gradient.value).role, Role::gradient);
    EXPECT_EQ(graph.spec(gradient.value), graph.spec(gradient.parameter));
    pair.inputs.push_back({gradient.parameter, gradient.value});
  }
  verify(graph);
  Interpreter run(graph);
  for (const Value& value : graph.values()) {
    if (value.producer) continue;
    const auto fill =
        is_real(value.spec.dtype) ? SampleInput::Fill::normal : SampleInput::Fill::label;
    run.put(graph.find(value.name),
            sample_values({.spec = value.spec, .fill = fill, .limit = 3}, fnv1a64(value.name)));
  }
  expect_gradients(run, pair);
}

struct Network {
  Graph graph{op_table()};
  ValueId x = graph.add_value("x", plain({4, 3}, DType::f64), Role::input);
  ValueId labels = graph.add_value("labels", plain({4}, DType::i32), Role::input);

  ValueId parameter(const char* name) {
    return graph.add_value(name, plain({4, 3}, DType::f64), Role::parameter);
  }
  ValueId loss_of(ValueId logits) {
    return graph.call("softmax_cross_entropy", {logits, labels}, {}, "loss")[0];
  }
};

TEST(Autodiff, FollowsAChain) {
  Network net;
  const ValueId w = net.parameter("w");
  const ValueId a = net.graph.call1("multiply", {net.x, w}, {}, "a");
  const ValueId b = net.graph.call1("activation", {a}, {{"kind", std::string("swish")}}, "b");
  const ValueId loss = net.loss_of(b);
  const std::size_t forward = net.graph.nodes().size();
  const auto gradients = append_backward(net.graph, loss);
  ASSERT_EQ(gradients.size(), 1U);
  EXPECT_EQ(gradients[0].parameter, w);
  check(net.graph, loss, gradients, forward);
}

TEST(Autodiff, SumsWhereAValueFeedsSeveralNodes) {
  Network net;
  const ValueId w = net.parameter("w"), v = net.parameter("v");
  const ValueId a = net.graph.call1("multiply", {w, v}, {}, "a");
  const ValueId b = net.graph.call1("activation", {a}, {{"kind", std::string("tanh")}}, "b");
  const ValueId c = net.graph.call1("multiply", {a, a}, {}, "c");
  const ValueId d = net.graph.call1("add", {b, c, w, net.x}, {{"last_factor", 0.5}}, "d");
  const ValueId loss = net.loss_of(d);
  const std::size_t forward = net.graph.nodes().size();
  const auto gradients = append_backward(net.graph, loss);
  ASSERT_EQ(gradients.size(), 2U);
  EXPECT_EQ(gradients[0].parameter, v) << "the last parameter comes first";
  check(net.graph, loss, gradients, forward);
}

TEST(Autodiff, GoesThroughConcatAndSplitWithPartsThatDoNotCount) {
  Network net;
  const ValueId w = net.parameter("w"), v = net.parameter("v");
  const ValueId joined = net.graph.call1("concat", {w, v}, {}, "joined");
  const Values parts = net.graph.call("split", {joined}, {{"sizes", Ints{2, 3, 1}}}, "parts");
  const ValueId loss = net.loss_of(parts[1]);
  const std::size_t forward = net.graph.nodes().size();
  check(net.graph, loss, append_backward(net.graph, loss), forward);
}

TEST(Autodiff, ASumOfLossesHasTheSumOfGradients) {
  Network net;
  const ValueId w = net.parameter("w");
  const ValueId a = net.graph.call1("multiply", {net.x, w}, {}, "a");
  const ValueId penalty = net.graph.call1("l2", {w}, {{"factor", 0.3}}, "penalty");
  const ValueId error = net.graph.call("mean_squared_error", {a, net.x}, {}, "error")[0];
  const ValueId loss = net.graph.call1("add", {net.loss_of(a), error, penalty}, {}, "total");
  const std::size_t forward = net.graph.nodes().size();
  check(net.graph, loss, append_backward(net.graph, loss), forward);
}

TEST(Autodiff, MakesNothingForWhatNoParameterReaches) {
  Network net;
  const ValueId w = net.parameter("w");
  const ValueId frozen = net.graph.call1("activation", {net.x}, {}, "frozen");
  const ValueId a = net.graph.call1("multiply", {frozen, w}, {}, "a");
  const ValueId unused = net.parameter("unused");
  net.graph.call1("activation", {unused}, {}, "aside");
  const ValueId loss = net.loss_of(a);
  const auto gradients = append_backward(net.graph, loss);
  ASSERT_EQ(gradients.size(), 1U);
  for (const Node& node : net.graph.nodes()) EXPECT_NE(node.op->name, "activation_grad");
}

TEST(Autodiff, RefusesAPathWithoutGradientByName) {
  Graph graph(op_table());
  const ValueId w = graph.add_value("w", plain({1}), Role::parameter);
  const ValueId norm = graph.call1("global_norm", {w, w}, {}, "odd");
  EXPECT_COMPLAINT(append_backward(graph, norm), UsageError, "odd");
}

TEST(Autodiff, EveryParameterOfASmallNetworkHasItsGradient) {
  const SmallGraph small;
  EXPECT_EQ(small.gradients.size(), 3U);
  for (const Gradient& gradient : small.gradients)
    EXPECT_EQ(small.graph.value(gradient.value).role, Role::gradient);
  verify(small.graph);
}

}  // namespace
}  // namespace plimsoll
