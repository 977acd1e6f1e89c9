#include "autodiff/autodiff.h"

#include <gtest/gtest.h>

#include "ops/table.h"
#include "tests/support/complaints.h"
#include "tests/support/finite_differences.h"
#include "tests/support/small_graph.h"

namespace plimsoll {
namespace {

// Everything that is fed or resident, by rule.
void put_by_rule(const Graph& graph, Interpreter& run) {
  for (const Value& value : graph.values()) {
    if (value.producer) continue;
    const auto fill =
        is_real(value.spec.dtype) ? SampleInput::Fill::normal : SampleInput::Fill::label;
    run.put(graph.find(value.name),
            sample_values({.spec = value.spec, .fill = fill, .limit = 3}, fnv1a64(value.name)));
  }
}

// Checks all gradients of a scalar loss by differences; everything is f64, filled by rule.
void check(Graph& graph, ValueId loss, const std::vector<Gradient>& gradients,
           std::size_t forward) {
  Differentiated pair{.forward = forward, .outputs = {{loss, {1.0}}}};
  EXPECT_EQ(graph.begin_of(Phase::backward), forward);
  for (const Gradient& gradient : gradients) {
    EXPECT_EQ(graph.value(gradient.value).role, Role::gradient);
    EXPECT_EQ(graph.spec(gradient.value), graph.spec(gradient.of));
    pair.inputs.push_back({gradient.of, gradient.value});
  }
  verify(graph);
  Interpreter run(graph);
  put_by_rule(graph, run);
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
  EXPECT_EQ(gradients[0].of, w);
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
  EXPECT_EQ(gradients[0].of, v) << "the last parameter comes first";
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

// Two losses of one network: a part of it counts for both, a part for one of them.
struct TwoLosses : Network {
  ValueId w = parameter("w"), v = parameter("v");
  ValueId a = graph.call1("multiply", {x, w}, {}, "a");
  ValueId b = graph.call1("multiply", {a, v}, {}, "b");
  ValueId first = loss_of(b);
  ValueId second = graph.call("mean_squared_error", {a, x}, {}, "second")[0];
};

TEST(Autodiff, SeveralSeedsGiveTheGradientOfTheirWeightedSum) {
  TwoLosses apart;
  const std::size_t forward = apart.graph.nodes().size();
  const ValueId one = apart.graph.call1("fill", {}, {{"value", 1.0}}, "one");
  const ValueId quarter = apart.graph.call1("fill", {}, {{"value", 0.25}}, "quarter");
  const auto of_seeds = append_backward(apart.graph, {{apart.first, one}, {apart.second, quarter}},
                                        {apart.w, apart.v});
  ASSERT_EQ(of_seeds.size(), 2U);
  verify(apart.graph);

  TwoLosses summed;
  const ValueId total =
      summed.graph.call1("add", {summed.first, summed.second}, {{"last_factor", 0.25}}, "total");
  const auto of_sum = append_backward(summed.graph, total);
  ASSERT_EQ(of_sum.size(), 2U);

  Interpreter run(apart.graph), expected(summed.graph);
  put_by_rule(apart.graph, run);
  put_by_rule(summed.graph, expected);
  expected.run();
  run.run();
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(apart.graph.value(of_seeds[i].of).name, summed.graph.value(of_sum[i].of).name);
    const std::vector<double> got = run.elements(of_seeds[i].value);
    const std::vector<double> want = expected.elements(of_sum[i].value);
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t e = 0; e < got.size(); ++e) EXPECT_NEAR(got[e], want[e], 1e-7);
  }
  Differentiated pair{.forward = forward,
                      .outputs = {{apart.first, {1.0}}, {apart.second, {0.25}}}};
  for (const Gradient& gradient : of_seeds) pair.inputs.push_back({gradient.of, gradient.value});
  expect_gradients(run, pair);
}

TEST(Autodiff, SeedsMayBeAnythingAndTwoOfOneValueAddUp) {
  Network net;
  const ValueId w = net.parameter("w");
  const ValueId a = net.graph.call1("multiply", {net.x, w}, {}, "a");
  const ValueId b = net.graph.call1("activation", {a}, {{"kind", std::string("tanh")}}, "b");
  const std::size_t forward = net.graph.nodes().size();
  const ValueId db = net.graph.add_value("db", net.graph.spec(b), Role::input);
  const ValueId more = net.graph.add_value("more", net.graph.spec(b), Role::input);
  const auto gradients = append_backward(net.graph, {{b, db}, {b, more}, {b, more}}, {w});
  ASSERT_EQ(gradients.size(), 1U);
  verify(net.graph);
  Interpreter run(net.graph);
  put_by_rule(net.graph, run);
  std::vector<double> weights = run.elements(db);
  const std::vector<double> twice = run.elements(more);
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] += 2 * twice[i];
  expect_gradients(
      run, {.forward = forward, .outputs = {{b, weights}}, .inputs = {{w, gradients[0].value}}});
}

TEST(Autodiff, EndsAtValuesInsideTheNetwork) {
  // The loss as a function of `a`, which feeds two nodes: by one graph in which a node makes it,
  // and by one in which it is fed.
  const auto behind = [](Network& net, ValueId a) {
    const ValueId b = net.graph.call1("activation", {a}, {{"kind", std::string("tanh")}}, "b");
    return net.loss_of(net.graph.call1("multiply", {a, b}, {}, "c"));
  };
  Network net;
  const ValueId w = net.parameter("w");
  const ValueId a = net.graph.call1("multiply", {net.x, w}, {}, "a");
  const ValueId loss = behind(net, a);
  const ValueId one = net.graph.call1("fill", {}, {{"value", 1.0}}, "one");
  const auto found = append_backward(net.graph, {{loss, one}}, {a});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].of, a);
  EXPECT_EQ(net.graph.value(found[0].value).role, Role::temporary);
  verify(net.graph);
  Interpreter run(net.graph);
  put_by_rule(net.graph, run);
  run.run();

  Network fed;
  const ValueId same = fed.graph.add_value("a", fed.graph.spec(fed.x), Role::input);
  const ValueId fed_loss = behind(fed, same);
  const std::size_t forward = fed.graph.nodes().size();
  const ValueId fed_one = fed.graph.call1("fill", {}, {{"value", 1.0}}, "one");
  const auto by_input = append_backward(fed.graph, {{fed_loss, fed_one}}, {same});
  ASSERT_EQ(by_input.size(), 1U);
  Interpreter expected(fed.graph);
  put_by_rule(fed.graph, expected);
  expected.put(same, run.elements(a));
  expect_gradients(
      expected,
      {.forward = forward, .outputs = {{fed_loss, {1.0}}}, .inputs = {{same, by_input[0].value}}});
  expected.run();
  EXPECT_EQ(run.elements(found[0].value), expected.elements(by_input[0].value));
}

TEST(Autodiff, GradientsByAValueAndByWhatMakesItAreBothThere) {
  Network net;
  const ValueId w = net.parameter("w");
  const ValueId a = net.graph.call1("multiply", {net.x, w}, {}, "a");
  const ValueId loss = net.loss_of(a);
  const ValueId one = net.graph.call1("fill", {}, {{"value", 1.0}}, "one");
  const auto both = append_backward(net.graph, {{loss, one}}, {w, a});
  ASSERT_EQ(both.size(), 2U);
  EXPECT_EQ(both[0].of, a) << "the last value comes first";
  Interpreter run(net.graph);
  put_by_rule(net.graph, run);
  run.run();
  const std::vector<double> x = run.elements(net.x), da = run.elements(both[0].value),
                            dw = run.elements(both[1].value);
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(dw[i], x[i] * da[i], 1e-12);
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
