// The larger detectors against torchvision: in double precision by reference kernels, the largest
// in f32 by the kernels that train.
#include "tests/support/detector_golden.h"

namespace plimsoll {
namespace {

class SlowRetinanetParity : public testing::TestWithParam<const char*> {
 protected:
  const nlohmann::json& golden_ = tests::retinanet_golden(GetParam());
};

TEST_P(SlowRetinanetParity, LossesAndEveryGradientAreTorchvisionsInDouble) {
  tests::expect_double_step(golden_, "trained");
}
TEST_P(SlowRetinanetParity, SoTheyAreWithFrozenBatchNorms) {
  tests::expect_double_step(golden_, "frozen");
}
TEST_P(SlowRetinanetParity, DetectionsAreTorchvisions) { tests::expect_detections(golden_); }

TEST(SlowRetinanetR50, TenStepsAreTorchvisions) {
  tests::expect_float_steps(tests::retinanet_golden("retinanet_r50"), "trained");
}

TEST(SlowRetinanetR50, TenStepsWithFrozenBatchNormsAreTorchvisions) {
  tests::expect_float_steps(tests::retinanet_golden("retinanet_r50"), "frozen");
}

TEST(SlowRetinanetR50, TenStepsInBlocksOf16AreTorchvisions) {
  tests::expect_float_steps(tests::retinanet_golden("retinanet_r50"), "trained", kWideLanes);
}

INSTANTIATE_TEST_SUITE_P(Large, SlowRetinanetParity,
                         testing::Values("retinanet_lite0", "retinanet_r50"), tests::detector_name);

}  // namespace
}  // namespace plimsoll
