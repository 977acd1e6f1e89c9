// What budget_slow_test asks for, with a team of two.
#include <gtest/gtest.h>

#include "tests/support/mini_networks.h"
#include "tests/support/mini_training.h"
#include "tests/support/threads.h"

namespace plimsoll {
namespace {

class LongTeamRun : public testing::TestWithParam<const char*> {};

TEST_P(LongTeamRun, TrainsToTheSameBitsAtEightBudgets) {
  const Threads threads(2);
  expect_same_bits({.network = GetParam()}, 8);
}

INSTANTIATE_TEST_SUITE_P(Mini, LongTeamRun, mini_networks(), network_name);

}  // namespace
}  // namespace plimsoll
