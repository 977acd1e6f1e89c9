// Gradients as the slope of a sum: central differences in f64.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/random.h"
#include "tests/support/interpreter.h"

namespace plimsoll {

// A graph whose first `forward` nodes make outputs from inputs and whose others make gradients of
// sum(weight * output) over all pairs, and those pairs.
struct Differentiated {
  struct Output {
    ValueId value;
    std::vector<double> weights;  // one per element
  };
  struct Input {
    ValueId value;
    ValueId gradient;
  };
  std::size_t forward = 0;
  std::vector<Output> outputs;
  std::vector<Input> inputs;
};

// Compares up to `most` elements of every gradient with differences. The inputs hold their values.
// An element at a kink (a ReLU or a maximum about to change sides, where no gradient is right) is
// left out: there the slopes to both sides differ by far more than curvature explains. Most
// elements must remain.
inline void expect_gradients(Interpreter& run, const Differentiated& case_,
                             std::int64_t most = 24) {
  constexpr double kStep = 1e-5;
  run.run();
  const auto sum = [&] {
    double total = 0;
    for (const Differentiated::Output& output : case_.outputs) {
      const std::vector<double> y = run.elements(output.value);
      for (std::size_t i = 0; i < y.size(); ++i) total += output.weights[i] * y[i];
    }
    return total;
  };
  const double here = sum();
  std::vector<std::vector<double>> gradients;
  for (const Differentiated::Input& input : case_.inputs)
    gradients.push_back(run.elements(input.gradient));
  for (std::size_t k = 0; k < case_.inputs.size(); ++k) {
    SCOPED_TRACE("gradient of input " + std::to_string(k));
    const std::vector<double> x = run.elements(case_.inputs[k].value);
    ASSERT_EQ(gradients[k].size(), x.size());
    double largest = 1e-3;
    for (double g : gradients[k]) largest = std::max(largest, std::fabs(g));
    const auto count = static_cast<std::int64_t>(x.size());
    const Permutation order(count, 5);
    const std::int64_t tried = std::min(count, most);
    std::int64_t kinks = 0;
    for (std::int64_t i = 0; i < tried; ++i) {
      const auto e = static_cast<std::size_t>(order(i));
      std::vector<double> moved = x;
      const auto slope_at = [&](double step) {
        moved[e] = x[e] + step;
        run.put(case_.inputs[k].value, moved);
        run.run(0, case_.forward);
        return (sum() - here) / step;
      };
      const double right = slope_at(kStep), left = slope_at(-kStep);
      if (std::fabs(right - left) > 1e-2 * std::max(largest, std::fabs(right))) {
        ++kinks;
        continue;
      }
      EXPECT_NEAR(gradients[k][e], (right + left) / 2, 1e-6 * largest) << "element " << e;
    }
    EXPECT_LE(2 * kinks, tried) << "too many kinks to learn anything";
    run.put(case_.inputs[k].value, x);
  }
}

}  // namespace plimsoll
