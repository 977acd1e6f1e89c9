// Detectors against torchvision: the smallest in double precision, small ones in f32 by the
// kernels that train. The rest is in retinanet_parity_slow_test.cpp.
#include "tests/support/detector_golden.h"
#include "tests/support/sanitized.h"

namespace plimsoll {
namespace {

const nlohmann::json& mini_retinanet() { return tests::retinanet_golden("retinanet_mini"); }

TEST(RetinanetMini, LossesAndEveryGradientAreTorchvisionsInDouble) {
  tests::expect_double_step(mini_retinanet(), "trained");
}
TEST(RetinanetMini, SoTheyAreWithFrozenBatchNorms) {
  if (kAddressSanitized) GTEST_SKIP() << "minutes there, for the kernels of the test before";
  tests::expect_double_step(mini_retinanet(), "frozen");
}
TEST(RetinanetMini, DetectionsAreTorchvisions) { tests::expect_detections(mini_retinanet()); }

class RetinanetParity : public testing::TestWithParam<const char*> {
 protected:
  const nlohmann::json& golden_ = tests::retinanet_golden(GetParam());
};

TEST_P(RetinanetParity, TenStepsAreTorchvisions) { tests::expect_float_steps(golden_, "trained"); }
TEST_P(RetinanetParity, TenStepsInBlocksOf16AreTorchvisions) {
  tests::expect_float_steps(golden_, "trained", kWideLanes);
}
TEST_P(RetinanetParity, TenStepsWithFrozenBatchNormsAreTorchvisions) {
  tests::expect_float_steps(golden_, "frozen");
}

INSTANTIATE_TEST_SUITE_P(Small, RetinanetParity,
                         testing::Values("retinanet_mini", "retinanet_lite0"),
                         tests::detector_name);

}  // namespace
}  // namespace plimsoll
