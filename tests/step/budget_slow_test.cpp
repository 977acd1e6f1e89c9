// The same weights, to the bit, over twenty steps at eight budgets; budget_test is its short form.
#include <gtest/gtest.h>

#include "tests/support/mini_networks.h"
#include "tests/support/mini_training.h"

namespace plimsoll {
namespace {

class LongRun : public testing::TestWithParam<const char*> {};

TEST_P(LongRun, TrainsToTheSameBitsAtEightBudgetsWithEveryOptimizer) {
  for (const char* name : {"sgd", "rmsprop", "adam", "adamw"})
    expect_same_bits(
        {.network = GetParam(), .optimizer = {.name = name, .momentum = name[0] == 'a' ? 0 : 0.9}},
        8);
  expect_same_bits({.network = GetParam(), .optimizer = {.nesterov = true, .clip_norm = 0.5}}, 8);
}

INSTANTIATE_TEST_SUITE_P(Mini, LongRun, mini_networks(), network_name);

}  // namespace
}  // namespace plimsoll
