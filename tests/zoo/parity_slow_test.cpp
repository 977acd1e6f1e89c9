// The largest networks against Keras in double precision.
#include "base/random.h"
#include "ops/table.h"
#include "tests/support/interpreter.h"
#include "tests/support/mini_networks.h"
#include "tests/support/parity.h"
#include "zoo/zoo.h"

namespace plimsoll {
namespace {

class SlowParity : public testing::TestWithParam<const char*> {
 protected:
  const nlohmann::json golden_ = tests::load_golden(GetParam());
};

// The whole step by reference kernels in double.
void expect_gradients_in_double(const nlohmann::json& golden) {
  const std::int64_t batch = golden["batch"];
  const std::vector<std::int64_t> image = golden["image"];
  const zoo::Options options{.classes = golden["classes"], .dropout = 0};
  const zoo::Network& network = zoo::find_network(golden["network"].get<std::string>());
  const StepGraph step = training_graph(
      op_table(),
      {.batch = batch, .channels = image[0], .image = {image[1], image[2]}, .dtype = DType::f64},
      [&](nn::Builder& net) { return network.build(net, options); }, *make_classification({}), 0,
      {.name = "sgd"}, {}, Fusion::plain);
  const Graph& graph = step.tape.graph;
  Interpreter run(graph);
  const double beta_mean = golden["beta"];
  for (const Value& value : graph.values()) {
    const bool is_weight = value.role == Role::parameter || value.role == Role::statistics;
    if (!is_weight && value.name != "image" && value.name != "label") continue;
    const std::uint64_t hash = fnv1a64(value.name);
    std::vector<double> values;
    for (std::int64_t i = 0; i < value.spec.shape.elements(); ++i) {
      const auto at = static_cast<std::uint64_t>(i);
      const double r = signed_unit(hash, at);
      if (value.name == "label")
        values.push_back(tests::rule_label(at, golden["classes"]));
      else if (is_weight)
        values.push_back(
            static_cast<double>(tests::rule_value(value.name, value.spec.shape, beta_mean, r)));
      else
        values.push_back(r);
    }
    run.put(graph.find(value.name), values);
  }
  run.run(0, graph.begin_of(Phase::update));

  const double loss = golden["loss"];
  EXPECT_NEAR(run.elements(graph.find("loss"))[0], loss, 1e-9 * loss);
  double total = 0;
  for (const auto& [name, expected] : golden["gradients"].items())
    total += std::pow(expected["norm"].get<double>(), 2);
  const double whole = std::sqrt(total);
  std::size_t compared = 0;
  for (const Node& node : graph.nodes()) {
    if (node.op->name != "sgd") continue;
    // An update reads the weight and its gradient.
    const std::string& name = graph.value(node.in[0]).name;
    const nlohmann::json& expected = golden["gradients"].at(name);
    const std::vector<double> gradient = run.elements(node.in[1]);
    // What vanishes but for rounding has no digits.
    const double allowed = 1e-8 * std::max(expected["norm"].get<double>(), 1e-6 * whole);
    double squares = 0;
    for (const double g : gradient) squares += g * g;
    EXPECT_NEAR(std::sqrt(squares), expected["norm"].get<double>(), allowed) << name;
    for (const nlohmann::json& sample : expected["samples"])
      EXPECT_NEAR(gradient.at(sample[0].get<std::size_t>()), sample[1].get<double>(), allowed)
          << name << " at " << sample[0];
    ++compared;
  }
  EXPECT_EQ(compared, golden["gradients"].size());
}

TEST_P(SlowParity, ParameterCountIsKeras) { expect_parameter_count(golden_); }

TEST_P(SlowParity, LossLogitsAndEveryGradientAreKeras) {
  expect_logits_and_gradients(golden_, gradient_tolerance(golden_));
}

TEST_P(SlowParity, LossLogitsAndEveryGradientAreKerasInBlocksOf16) {
  expect_logits_and_gradients_in_wide_blocks(golden_);
}

TEST_P(SlowParity, TenStepsOfEachOptimizerAreKeras) { expect_ten_steps(golden_); }

INSTANTIATE_TEST_SUITE_P(Largest, SlowParity, testing::ValuesIn(kSlowToCompare), network_name);

// What gradient_tolerance() allows beyond kGradients is rounding that crosses the kink of a relu:
// in double nothing crosses.
TEST(SlowParity, MobilenetsGradientsAreKerasInDouble) {
  expect_gradients_in_double(tests::load_golden("mobilenet"));
}
TEST(SlowParity, TorchsInceptionsGradientsArePyTorchsInDouble) {
  expect_gradients_in_double(tests::load_golden("inception_v3_torch"));
}

}  // namespace
}  // namespace plimsoll
