// A network against Keras in double precision: logits, loss, every gradient, ten steps of each
// optimizer.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>

#include "tensor/convert.h"
#include "tests/support/golden.h"

namespace plimsoll {

inline constexpr double kLogits = 1e-4;
inline constexpr double kGradients = 1e-3;
inline constexpr double kLosses = 1e-3;

inline double largest(const std::vector<double>& values) {
  double most = 0;
  for (double v : values) most = std::max(most, std::abs(v));
  return most;
}

inline void expect_logits(const TensorView& logits, const std::vector<double>& expected,
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

using Gradients = std::map<std::string, std::vector<float>>;

// With momentum and a learning rate of 1, the first step leaves -gradient in the slot, exactly.
inline Gradients gradients_from_slots(const Trainer& trainer) {
  Gradients gradients;
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

// Rounding that carries an activation over the kink of a relu makes all gradients before it jump
// (tools/golden/README.md). Where Keras's own f32 does so, its gap is what can be asked for; and of
// mobilenet, our order of sums carries one over where Keras's does not, nor our reference kernels'.
inline double gradient_tolerance(const nlohmann::json& golden) {
  const bool jumps = golden["network"] == "mobilenet" || golden["network"] == "inception_v3_torch";
  const double jump = jumps ? 3e-3 : 0;
  return std::max({kGradients, jump, golden["f32_gap"]["gradients"].get<double>()});
}

// Networks that take long and whose kinds of layer the others have, too.
inline constexpr std::array kSlowToCompare{"vgg16",
                                           "inception_resnet_v2",
                                           "efficientnet_lite1",
                                           "efficientnet_lite2",
                                           "mobilenet",
                                           "resnet50",
                                           "resnet_v1_50",
                                           "mobilenet_v2_torch",
                                           "googlenet_torch",
                                           "inception_v3_torch"};

inline void expect_parameter_count(const nlohmann::json& golden) {
  Trainer trainer = tests::golden_trainer(golden, {});
  std::int64_t count = 0;
  for (const nn::Parameter& parameter : trainer.step_graph().parameters)
    count += parameter.spec.shape.elements();
  EXPECT_EQ(count, golden["parameters"].get<std::int64_t>());
}

inline void expect_gradients(const nlohmann::json& golden, const Gradients& gradients,
                             double tolerance) {
  double total = 0;
  for (const auto& [name, expected] : golden["gradients"].items())
    total += std::pow(expected["norm"].get<double>(), 2);
  // A gradient that is zero but for rounding, such as that of a bias before BatchNorm, has no
  // digits to compare: it must be as small beside the whole gradient as the framework's own f32
  // leaves it.
  const double whole = std::sqrt(total);
  const double vanishing =
      10 * std::max(golden["f32_gap"]["gradients_vanishing"].get<double>(), 1e-8);
  for (const auto& [name, expected] : golden["gradients"].items()) {
    ASSERT_TRUE(gradients.contains(name)) << name;
    const std::vector<float>& gradient = gradients.at(name);
    const double norm = expected["norm"];
    const double allowed =
        norm < 1e-9 * whole ? vanishing * whole : tolerance * std::max(norm, 1e-6 * whole);
    double squares = 0;
    for (float g : gradient) squares += static_cast<double>(g) * static_cast<double>(g);
    EXPECT_NEAR(std::sqrt(squares), norm, allowed) << name;
    for (const nlohmann::json& sample : expected["samples"])
      EXPECT_NEAR(static_cast<double>(gradient[sample[0].get<std::size_t>()]),
                  sample[1].get<double>(), allowed)
          << name << " at " << sample[0];
  }
  EXPECT_EQ(gradients.size(), golden["gradients"].size());
}

inline void expect_logits_and_gradients(const nlohmann::json& golden, double tolerance,
                                        const TrainerOptions& base = {}) {
  const std::int64_t batch = golden["batch"];
  Trainer trainer = tests::golden_trainer(golden, {}, base);
  trainer.open();
  tests::fill_by_rule(trainer, golden);
  tests::fill_batch_by_rule(trainer, golden, Purpose::evaluate);
  trainer.evaluate_step(batch);
  expect_logits(trainer.logits(Purpose::evaluate, batch), golden["eval_logits"], "evaluation");

  tests::fill_batch_by_rule(trainer, golden, Purpose::train);
  trainer.train_step(batch, 1.0F, 0, 0);
  expect_logits(trainer.logits(Purpose::train, batch), golden["logits"], "training");
  expect_gradients(golden, gradients_from_slots(trainer), tolerance);
}

// In blocks of 16 channels, where sums have another order: that carries an activation over a kink
// in inception_v3, and a late one in googlenet_torch (as the reference kernels do in any blocks),
// before which gradients jump by some percent.
inline void expect_logits_and_gradients_in_wide_blocks(const nlohmann::json& golden) {
  TrainerOptions wide;
  wide.input.lanes = kWideLanes;
  const std::string network = golden["network"];
  const double jump = network == "inception_v3" ? 3e-3 : network == "googlenet_torch" ? 4e-2 : 0;
  expect_logits_and_gradients(golden, std::max(jump, gradient_tolerance(golden)), wide);
}

// `train` takes a step of the golden batch: (trainer, rate, index) to its loss.
inline void expect_ten_steps(const nlohmann::json& golden, const TrainerOptions& base,
                             const std::function<double(Trainer&, float, std::int64_t)>& train) {
  for (const auto& [name, steps] : golden["steps"].items()) {
    OptimizerOptions options{.name = name,
                             .momentum = name == "sgd" ? steps["momentum"].get<double>() : 0.0};
    Trainer trainer = tests::golden_trainer(golden, options, base);
    trainer.open();
    // A run in f32 strays from itself summed in another order: Keras's one gap is a sample of it.
    const double tolerance = std::max(kLosses, 10 * golden["f32_gap"][name].get<double>());
    std::int64_t step = 0;
    tests::fill_by_rule(trainer, golden);
    const std::vector<double> losses = steps["losses"];
    for (double expected : losses) {
      const double loss = train(trainer, steps["lr"].get<float>(), step);
      EXPECT_NEAR(loss, expected, tolerance * expected) << name << " step " << step;
      ++step;
    }
    EXPECT_LT(losses.back(), 0.9 * losses.front()) << "the golden run moves the loss";
  }
}

inline void expect_ten_steps(const nlohmann::json& golden) {
  const std::int64_t batch = golden["batch"];
  expect_ten_steps(golden, {}, [&](Trainer& trainer, float lr, std::int64_t step) {
    tests::fill_batch_by_rule(trainer, golden, Purpose::train);
    return trainer.train_step(batch, lr, step, step * batch).loss;
  });
}

}  // namespace plimsoll
