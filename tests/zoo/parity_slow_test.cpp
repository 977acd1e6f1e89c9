// The largest networks against Keras in double precision.
#include "tests/support/mini_networks.h"
#include "tests/support/parity.h"

namespace plimsoll {
namespace {

class SlowParity : public testing::TestWithParam<const char*> {
 protected:
  const nlohmann::json golden_ = tests::load_golden(GetParam());
};

TEST_P(SlowParity, ParameterCountIsKeras) { expect_parameter_count(golden_); }

TEST_P(SlowParity, LossLogitsAndEveryGradientAreKeras) {
  expect_logits_and_gradients(golden_, gradient_tolerance(golden_));
}

TEST_P(SlowParity, TenStepsOfEachOptimizerAreKeras) { expect_ten_steps(golden_); }

INSTANTIATE_TEST_SUITE_P(Largest, SlowParity, testing::ValuesIn(kSlowToCompare), network_name);

// What mobilenet's gradients are allowed in gradient_tolerance() is rounding: kernels that sum in
// another order come a thousand times nearer.
TEST(SlowParity, MobilenetsGradientsAreKerasByReferenceKernels) {
  expect_logits_and_gradients(tests::load_golden("mobilenet"), 1e-5,
                              {.kernels = {.reference = true}});
}
TEST(SlowParity, TorchsInceptionsGradientsArePyTorchsByReferenceKernels) {
  expect_logits_and_gradients(tests::load_golden("inception_v3_torch"), 1e-4,
                              {.kernels = {.reference = true}});
}

}  // namespace
}  // namespace plimsoll
