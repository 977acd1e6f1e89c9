// Fifteen kills each of detectors of one stage and of two, at random moments of training,
// evaluating and saving.
#include "tests/cli/detector_runs.h"

namespace plimsoll {
namespace {

class OneStageStorm : public DetectorRuns {
 protected:
  OneStageStorm() : DetectorRuns("retinanet_mini") {}
};
TEST_F(OneStageStorm, ChangesNothing) { expect_kills_change_nothing(15); }

class TwoStageStorm : public DetectorRuns {
 protected:
  TwoStageStorm() : DetectorRuns("fasterrcnn_mini") {}
};
TEST_F(TwoStageStorm, ChangesNothing) { expect_kills_change_nothing(15); }

}  // namespace
}  // namespace plimsoll
