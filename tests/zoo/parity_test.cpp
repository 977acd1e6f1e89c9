// Networks against Keras in double precision: logits, loss, every gradient, ten steps of each
// optimizer.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "tensor/convert.h"
#include "tests/support/golden.h"
#include "tests/support/mini_networks.h"
#include "tests/support/sanitized.h"

namespace plimsoll {
namespace {

using nlohmann::json;

constexpr double kLogits = 1e-4;
constexpr double kGradients = 1e-3;
constexpr double kLosses = 1e-3;

class Parity : public testing::TestWithParam<const char*> {
 protected:
  const json golden_ = tests::load_golden(GetParam());
  const std::int64_t batch_ = golden_["batch"];
};

double largest(const std::vector<double>& values) {
  double most = 0;
  for (double v : values) most = std::max(most, std::abs(v));
  return most;
}

void expect_logits(const TensorView& logits, const std::vector<double>& expected,
                   const char* which) {
  const double scale = largest(expected);
  const std::int64_t classes = logits.spec.shape[1];
  double worst = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    const auto got = static_cast<double>(logits.at<float>(at / classes, at % classes));
    worst = std::max(worst, std::abs(got - expected[i]) / scale);
  }
  EXPECT_LT(worst, kLogits) << which;
}

// With momentum and a learning rate of 1, the first step leaves -gradient in the slot, exactly.
std::map<std::string, std::vector<float>> gradients_from_slots(Trainer& trainer,
                                                               std::int64_t batch) {
  trainer.train_step(batch, 1.0F, 0, 0);
  std::map<std::string, std::vector<float>> gradients;
  for (const NamedTensor& slot : slot_tensors(trainer.session(), trainer.step_graph())) {
    const std::string prefix = "optimizer/";
    const std::string weight =
        slot.name.substr(prefix.size(), slot.name.rfind('/') - prefix.size());
    std::vector<float>& values = gradients[weight];
    values.resize(static_cast<std::size_t>(slot.view.spec.shape.elements()));
    read_elements(slot.view, 0, values);
    for (float& value : values) value = -value;
  }
  return gradients;
}

TEST_P(Parity, ParameterCountIsKeras) {
  Trainer trainer = tests::golden_trainer(golden_, {});
  std::int64_t count = 0;
  for (const nn::Parameter& parameter : trainer.step_graph().parameters)
    count += parameter.spec.shape.elements();
  EXPECT_EQ(count, golden_["parameters"].get<std::int64_t>());
}

TEST_P(Parity, LossLogitsAndEveryGradientAreKeras) {
  Trainer trainer = tests::golden_trainer(golden_, {});
  trainer.open();
  tests::fill_by_rule(trainer, golden_);
  tests::fill_batch_by_rule(trainer, golden_, Purpose::evaluate);
  trainer.evaluate_step(batch_);
  expect_logits(trainer.logits(Purpose::evaluate, batch_), golden_["eval_logits"], "evaluation");

  tests::fill_batch_by_rule(trainer, golden_, Purpose::train);
  const std::map<std::string, std::vector<float>> gradients = gradients_from_slots(trainer, batch_);
  expect_logits(trainer.logits(Purpose::train, batch_), golden_["logits"], "training");

  double total = 0;
  for (const auto& [name, expected] : golden_["gradients"].items())
    total += std::pow(expected["norm"].get<double>(), 2);
  // A gradient that is zero but for rounding, such as that of a bias before BatchNorm, has no
  // digits to compare: it must be as small beside the whole gradient as the framework's own f32
  // leaves it.
  const double whole = std::sqrt(total);
  const double vanishing =
      10 * std::max(golden_["f32_gap"]["gradients_vanishing"].get<double>(), 1e-8);
  for (const auto& [name, expected] : golden_["gradients"].items()) {
    ASSERT_TRUE(gradients.contains(name)) << name;
    const std::vector<float>& gradient = gradients.at(name);
    const double norm = expected["norm"];
    const double allowed =
        norm < 1e-9 * whole ? vanishing * whole : kGradients * std::max(norm, 1e-6 * whole);
    double squares = 0;
    for (float g : gradient) squares += static_cast<double>(g) * static_cast<double>(g);
    EXPECT_NEAR(std::sqrt(squares), norm, allowed) << name;
    for (const json& sample : expected["samples"])
      EXPECT_NEAR(static_cast<double>(gradient[sample[0].get<std::size_t>()]),
                  sample[1].get<double>(), allowed)
          << name << " at " << sample[0];
  }
  EXPECT_EQ(gradients.size(), golden_["gradients"].size());
}

TEST_P(Parity, TenStepsOfEachOptimizerAreKeras) {
  for (const auto& [name, steps] : golden_["steps"].items()) {
    OptimizerOptions options{.name = name,
                             .momentum = name == "sgd" ? steps["momentum"].get<double>() : 0.0};
    Trainer trainer = tests::golden_trainer(golden_, options);
    trainer.open();
    const double tolerance = std::max(kLosses, 3 * golden_["f32_gap"][name].get<double>());
    std::int64_t step = 0;
    tests::fill_by_rule(trainer, golden_);
    const std::vector<double> losses = steps["losses"];
    for (double expected : losses) {
      tests::fill_batch_by_rule(trainer, golden_, Purpose::train);
      const StepResult result =
          trainer.train_step(batch_, steps["lr"].get<float>(), step, step * batch_);
      EXPECT_NEAR(result.loss, expected, tolerance * expected) << name << " step " << step;
      ++step;
    }
    EXPECT_LT(losses.back(), 0.9 * losses.front()) << "the golden run moves the loss";
  }
}

INSTANTIATE_TEST_SUITE_P(Small, Parity, mini_networks(), network_name);
// The large ones take a quarter of an hour under AddressSanitizer: there, the two that have every
// kind of layer between them.
auto large_networks() {
  if constexpr (kAddressSanitized)
    return testing::Values("googlenet", "mobilenet_v2");
  else
    return testing::Values("googlenet", "mobilenet_v2", "resnet50", "inception_v3", "xception");
}
INSTANTIATE_TEST_SUITE_P(Large, Parity, large_networks(), network_name);

}  // namespace
}  // namespace plimsoll
