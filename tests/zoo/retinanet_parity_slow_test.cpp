// The largest detector against torchvision in double precision, by reference kernels.
#include "tests/support/retinanet_golden.h"

namespace plimsoll {
namespace {

const nlohmann::json& golden() { return tests::retinanet_golden("retinanet_r50"); }

TEST(SlowRetinanetParity, LossesAndEveryGradientAreTorchvisionsInDouble) {
  tests::expect_double_step(golden(), "trained");
}
TEST(SlowRetinanetParity, SoTheyAreWithFrozenBatchNorms) {
  tests::expect_double_step(golden(), "frozen");
}
TEST(SlowRetinanetParity, DetectionsAreTorchvisions) { tests::expect_detections(golden()); }

}  // namespace
}  // namespace plimsoll
