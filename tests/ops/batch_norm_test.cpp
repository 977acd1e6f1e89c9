// BatchNorm as it is trained: bn_stats feeds bn_apply, whose gradient goes through both.
#include "ops/table.h"
#include "tests/support/finite_differences.h"

namespace plimsoll {
namespace {

struct BatchNormCase {
  bool scale = true;
  bool center = true;
  bool residual = false;
  std::string activation = "none";
  bool meets = false;  // with other parts, of which there are none
};

std::vector<double> values_for(const Spec& spec, std::uint64_t key) {
  return sample_values({.spec = spec}, key);
}

void check(const BatchNormCase& c) {
  Graph graph(op_table());
  const Spec image = blocked(3, 5, 4, 3, DType::f64);
  const Spec channels = plain({5}, DType::f64);
  Values in{graph.add_value("y", image, Role::parameter)};
  Values stats = graph.call("bn_stats", {in[0]}, {}, "stats");
  if (c.meets) stats = graph.call("bn_meet", stats, {}, "meet");
  Values operands{in[0], stats[0], stats[1]};
  const auto give = [&](const char* name, const Spec& spec) {
    in.push_back(graph.add_value(name, spec, Role::parameter));
    operands.push_back(in.back());
  };
  if (c.scale) give("gamma", channels);
  if (c.center) give("beta", channels);
  if (c.residual) give("residual", image);
  const ValueId z = graph.call1("bn_apply", operands,
                                {{"scale", std::int64_t{c.scale}},
                                 {"center", std::int64_t{c.center}},
                                 {"residual", std::int64_t{c.residual}},
                                 {"activation", c.activation},
                                 {"meets", std::int64_t{c.meets}}},
                                "apply");
  const ValueId dz = graph.add_value("dz", image, Role::input);
  const std::vector<bool> wants(operands.size(), true);
  const std::size_t forward = graph.nodes().size();
  const Node& node = graph.nodes()[forward - 1];
  const Values dx = node.op->backward({graph, node, {dz}, wants});
  Differentiated pair{.forward = forward, .outputs = {{z, values_for(image, 9)}}};
  for (std::size_t i = 0; i < operands.size(); ++i)
    if (dx[i]) pair.inputs.push_back({operands[i], dx[i]});
  EXPECT_EQ(pair.inputs.size(), in.size()) << "all but the statistics have a gradient";

  Interpreter run(graph);
  for (std::size_t i = 0; i < in.size(); ++i) run.put(in[i], values_for(graph.spec(in[i]), i));
  run.put(dz, pair.outputs[0].weights);
  expect_gradients(run, pair, 60);
}

TEST(BatchNorm, GradientFlowsThroughTheStatistics) { check({}); }

TEST(BatchNorm, GradientHoldsWithoutGammaOrBeta) {
  check({.scale = false});
  check({.center = false});
  check({.scale = false, .center = false});
}

TEST(BatchNorm, GradientHoldsWithAnActivation) {
  check({.activation = "relu"});
  check({.activation = "relu6"});
  check({.scale = false, .activation = "relu"});
}

TEST(BatchNorm, GradientHoldsWithAResidual) {
  check({.residual = true});
  check({.residual = true, .activation = "relu"});
  check({.scale = false, .center = false, .residual = true, .activation = "relu6"});
}

TEST(BatchNorm, GradientHoldsWhereStatisticsAreMet) {
  check({.meets = true});
  check({.scale = false, .meets = true});
  check({.center = false, .activation = "relu", .meets = true});
  check({.scale = false, .center = false, .residual = true, .activation = "relu6", .meets = true});
}

TEST(BatchNorm, TwoTermsOfAGradientCountAsTheirSum) {
  const Spec image = blocked(2, 11, 3, 4, DType::f64);
  const Spec channels = plain({11}, DType::f64);
  Graph graph(op_table());
  Values values;
  for (const char* name : {"a", "b", "y"})
    values.push_back(graph.add_value(name, image, Role::input));
  for (const char* name : {"mean", "variance", "gamma", "beta"})
    values.push_back(graph.add_value(name, channels, Role::input));
  const Attrs attrs{{"activation", std::string("relu")}};
  Attrs two = attrs;
  two.set("terms", std::int64_t{2});
  const Values together = graph.call("bn_grad", values, two, "together");
  const ValueId sum = graph.call1("add", {values[0], values[1]}, {}, "sum");
  Values summed(values.begin() + 1, values.end());
  summed[0] = sum;
  const Values apart = graph.call("bn_grad", summed, attrs, "apart");

  Interpreter run(graph);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool variance = i == 4;
    const auto fill = variance ? SampleInput::Fill::positive : SampleInput::Fill::normal;
    run.put(values[i], sample_values({.spec = graph.spec(values[i]), .fill = fill}, i));
  }
  run.run();
  for (std::size_t i = 0; i < together.size(); ++i) {
    const std::vector<double> a = run.elements(together[i]), b = run.elements(apart[i]);
    for (std::size_t e = 0; e < a.size(); ++e) EXPECT_NEAR(a[e], b[e], 1e-12);
  }
}

}  // namespace
}  // namespace plimsoll
