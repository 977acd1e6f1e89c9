#include "tests/cli/photographs_runs.h"

namespace plimsoll {
namespace {

TEST(PhotographRuns, OfThreeHundredStepsFitTenTimes) {
  const TemporaryFolder photographs;
  write_photographs(photographs.path(), 120, 3, 24);
  PhotographRuns runs(photographs.path().string() +
                      " --model inception_mini --channels 3 --image 32 --batch 4 --val-split 0.1");
  for (int i = 0; i < 10; ++i) runs.train(300, i % 2 == 0 ? 0 : 0.3);
}

}  // namespace
}  // namespace plimsoll
