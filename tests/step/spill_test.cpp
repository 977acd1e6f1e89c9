// What waits in a file comes back as it was.
#include <gtest/gtest.h>

#include "tests/support/mini_networks.h"
#include "tests/support/mini_training.h"

namespace plimsoll {
namespace {

class Spilling : public testing::TestWithParam<const char*> {};

TEST_P(Spilling, OfAllThatBackwardNeedsTrainsToTheSameBits) {
  const Training run{.network = GetParam(), .steps = 6};
  Trainer trainer = make_trainer(run);
  const Problem problem = trainer.tapes().problem(0);
  EXPECT_TRUE(train(run, problem.all(Fate::spill)) == train(run, problem.all(Fate::keep)));
}

INSTANTIATE_TEST_SUITE_P(Mini, Spilling, mini_networks(), network_name);

}  // namespace
}  // namespace plimsoll
