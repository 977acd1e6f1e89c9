#include "tests/cli/photographs_runs.h"

namespace plimsoll {
namespace {

TEST(PhotographRuns, FitInExactlyTheirBytesWhateverThePicturesAre) {
  const TemporaryFolder photographs;
  write_photographs(photographs.path(), 40, 2, 4);
  const std::string data = photographs.path().string();
  PhotographRuns runs(data +
                      " --model inception_mini --channels 3 --image 32 --batch 4 --val-split 0.2");
  runs.train(30, 1);
  runs.train(30, 0);
  runs.find_lr();
  runs.check();
  runs.eval(data);
  runs.predict(data);
}

}  // namespace
}  // namespace plimsoll
