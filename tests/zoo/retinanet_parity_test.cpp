// Detectors against torchvision in double precision; the largest is in
// retinanet_parity_slow_test.cpp.
#include "tests/support/retinanet_golden.h"

namespace plimsoll {
namespace {

class RetinanetParity : public testing::TestWithParam<const char*> {
 protected:
  const nlohmann::json& golden_ = tests::retinanet_golden(GetParam());
};

TEST_P(RetinanetParity, LossesAndEveryGradientAreTorchvisionsInDouble) {
  tests::expect_double_step(golden_, "trained");
}
TEST_P(RetinanetParity, SoTheyAreWithFrozenBatchNorms) {
  tests::expect_double_step(golden_, "frozen");
}
TEST_P(RetinanetParity, DetectionsAreTorchvisions) { tests::expect_detections(golden_); }
TEST_P(RetinanetParity, TenStepsAreTorchvisions) { tests::expect_float_steps(golden_, "trained"); }
TEST_P(RetinanetParity, TenStepsWithFrozenBatchNormsAreTorchvisions) {
  tests::expect_float_steps(golden_, "frozen");
}

INSTANTIATE_TEST_SUITE_P(Small, RetinanetParity,
                         testing::Values("retinanet_mini", "retinanet_lite0"),
                         tests::detector_name);

// In f32, by the kernels that train; in double it takes minutes.
TEST(RetinanetR50, TenStepsAreTorchvisions) {
  tests::expect_float_steps(tests::retinanet_golden("retinanet_r50"), "trained");
}
TEST(RetinanetR50, TenStepsWithFrozenBatchNormsAreTorchvisions) {
  tests::expect_float_steps(tests::retinanet_golden("retinanet_r50"), "frozen");
}

}  // namespace
}  // namespace plimsoll
