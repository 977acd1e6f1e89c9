// Detectors of two stages against torchvision: the small one in double precision and in f32 by the
// kernels that train. The large one is in fasterrcnn_parity_slow_test.cpp.
#include "tests/support/detector_golden.h"
#include "tests/support/sanitized.h"

namespace plimsoll {
namespace {

const nlohmann::json& mini_fasterrcnn() { return tests::fasterrcnn_golden("fasterrcnn_mini"); }

TEST(FasterrcnnMini, RegionsLossesAndEveryGradientAreTorchvisionsInDouble) {
  tests::expect_double_step(mini_fasterrcnn(), "trained");
}
TEST(FasterrcnnMini, SoTheyAreWithFrozenBatchNorms) {
  if (kAddressSanitized) GTEST_SKIP() << "minutes there, for the kernels of the test before";
  tests::expect_double_step(mini_fasterrcnn(), "frozen");
}
TEST(FasterrcnnMini, ProposalsAndDetectionsAreTorchvisions) {
  tests::expect_detections(mini_fasterrcnn());
}
TEST(FasterrcnnMini, TenStepsAreTorchvisions) {
  tests::expect_float_steps(mini_fasterrcnn(), "trained");
}
TEST(FasterrcnnMini, TenStepsInBlocksOf16AreTorchvisions) {
  tests::expect_float_steps(mini_fasterrcnn(), "trained", kWideLanes);
}
TEST(FasterrcnnMini, TenStepsWithFrozenBatchNormsAreTorchvisions) {
  tests::expect_float_steps(mini_fasterrcnn(), "frozen");
}

}  // namespace
}  // namespace plimsoll
