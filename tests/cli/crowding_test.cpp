// A machine that others use too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include "tests/cli/program.h"
#include "tests/support/image_folder.h"
#include "tests/support/watchdog.h"

namespace plimsoll {
namespace {

using testing::HasSubstr;

// Its first processor: two threads share it.
std::string on_one_processor() {
  cpu_set_t set;
  CPU_ZERO(&set);
  sched_getaffinity(0, sizeof set, &set);
  int first = 0;
  while (!CPU_ISSET(first, &set)) ++first;
  return "OMP_NUM_THREADS=2 taskset -c " + std::to_string(first) + " ";
}

TEST(Crowding, IsToldOfInTheLogOfARun) {
  const TemporaryFolder folder;
  const Outcome outcome = run_program(
      "train fashion-mnist --model inception_mini --batch 32 --steps 40 --threads 2 --out " +
          (folder / "run").string(),
      on_one_processor());
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(content(folder / "run/log.txt"), HasSubstr(" crowded: 2 threads share "));
}

TEST(Crowding, OfARuntimeThatGivesFewerThreadsEndsInNoWait) {
  const Watchdog watchdog;
  for (const char* variable : {"OMP_THREAD_LIMIT=1 ", "OMP_MAX_ACTIVE_LEVELS=0 "}) {
    const Outcome outcome = run_program(
        "bench --model inception_mini --batch 8 --steps 2 --threads 2 --json", variable);
    EXPECT_EQ(outcome.code, 0) << outcome.output;
    EXPECT_THAT(outcome.output, HasSubstr("\"threads\": 1"));
  }
}

}  // namespace
}  // namespace plimsoll
