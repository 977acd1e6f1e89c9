#include "base/processor_time.h"

#include <gtest/gtest.h>

#include "base/stopwatch.h"

namespace plimsoll {
namespace {

// A hypervisor may keep the processor for itself meanwhile, of which the kernel tells neither.
TEST(ProcessorTime, GrowsWithWork) {
  const std::optional<ProcessorTime> before = processor_time();
  if (!before) GTEST_SKIP() << "this kernel does not tell";
  const Stopwatch watch;
  ProcessorTime got;
  while (got.running + got.waiting < 0.04 && watch.seconds() < 30)
    got = *processor_time() - *before;
  EXPECT_GT(got.running, 0);
  EXPECT_GE(got.running + got.waiting, 0.04);
  EXPECT_LE(got.share(), 1);
}

TEST(ProcessorTime, ShareIsWhatRanOfWhatWantedTo) {
  EXPECT_EQ((ProcessorTime{.running = 1, .waiting = 3}.share()), 0.25);
  EXPECT_EQ((ProcessorTime{.running = 0, .waiting = 0}.share()), 1);
}

TEST(CrowdJudge, CallsCrowdedAtOnceAndCalmOnlyAfterAWhile) {
  CrowdJudge judge;
  const ProcessorTime alone{.running = 0.5, .waiting = 0.001};
  const ProcessorTime beside{.running = 0.25, .waiting = 0.25};
  const ProcessorTime asleep{.running = 0.001, .waiting = 0.01};
  for (int i = 0; i < 100; ++i) judge.add(alone);
  judge.add(asleep);
  EXPECT_FALSE(judge.is_crowded());
  judge.add(beside);
  EXPECT_TRUE(judge.is_crowded());
  for (int i = 0; i < 5; ++i) judge.add(alone);
  EXPECT_TRUE(judge.is_crowded());
  judge.add(beside);
  for (int i = 0; i < 19; ++i) judge.add(alone);
  EXPECT_TRUE(judge.is_crowded());
  judge.add(alone);
  EXPECT_FALSE(judge.is_crowded());
}

}  // namespace
}  // namespace plimsoll
