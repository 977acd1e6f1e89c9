// Refusals of many networks, every hint of each; hints_test is its short form.
#include <gtest/gtest.h>

#include "tests/cli/hinted_runs.h"

namespace plimsoll {
namespace {

TEST(ManyHints, AreKeptByTheCommandsTheyName) {
  std::mt19937 chance(11);
  const std::vector<std::string> networks{"resnet20",  "inception_mini", "xception_mini",
                                          "googlenet", "mobilenet",      "mobilenet_v2"};
  int taken = 0;
  for (int round = 0; round < 2; ++round)
    for (const std::string& network : networks) taken += expect_hints_are_kept(chance, network);
  EXPECT_GT(taken, 24);
}

}  // namespace
}  // namespace plimsoll
