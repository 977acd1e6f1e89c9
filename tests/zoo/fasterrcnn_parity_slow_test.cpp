// The larger detector of two stages against torchvision.
#include "tests/support/detector_golden.h"

namespace plimsoll {
namespace {

const nlohmann::json& r50() { return tests::fasterrcnn_golden("fasterrcnn_r50"); }

TEST(SlowFasterrcnnR50, RegionsLossesAndEveryGradientAreTorchvisionsInDouble) {
  tests::expect_double_step(r50(), "trained");
}
TEST(SlowFasterrcnnR50, SoTheyAreWithFrozenBatchNorms) {
  tests::expect_double_step(r50(), "frozen");
}
TEST(SlowFasterrcnnR50, ProposalsAndDetectionsAreTorchvisions) { tests::expect_detections(r50()); }
TEST(SlowFasterrcnnR50, TenStepsAreTorchvisions) { tests::expect_float_steps(r50(), "trained"); }
TEST(SlowFasterrcnnR50, TenStepsInBlocksOf16AreTorchvisions) {
  tests::expect_float_steps(r50(), "trained", kWideLanes);
}
TEST(SlowFasterrcnnR50, SoTheyAreWithFrozenBatchNormsInFloat) {
  tests::expect_float_steps(r50(), "frozen");
}

}  // namespace
}  // namespace plimsoll
