// What steps of ranks allocate.
#pragma once

#include <gtest/gtest.h>

#include <functional>

#include "tests/support/allocation_counter.h"
#include "tests/support/ranks.h"
#include "tests/support/threads.h"

namespace plimsoll {

// Trains as each of two ranks: `begin(group)` makes what is called for every step. Expects that the
// tenth allocates nothing, in any thread.
inline void expect_no_allocation_in_step_ten(
    const std::function<std::function<void(std::int64_t step)>(dist::Group&)>& begin) {
  constexpr std::int64_t kSteps = 10;
  std::int64_t grown = -1;
  const auto thrown = run_ranks(2, [&](dist::Group& group) {
    // libgomp keeps the team of a parallel region for the next one, but not a team of one.
    const Threads threads(2);
    const auto train = begin(group);
    const auto meet = [&] {
      const std::byte here{};
      std::byte all[2];
      group.all_gather({&here, 1}, all);
    };
    for (std::int64_t step = 0; step < kSteps; ++step) {
      meet();
      const std::int64_t before = allocations_so_far();
      meet();
      train(step);
      meet();
      if (group.rank() == 0) grown = allocations_so_far() - before;
      meet();
    }
  });
  for (const std::string& text : thrown) EXPECT_EQ(text, "");
  EXPECT_EQ(grown, 0) << "in step " << kSteps;
}

}  // namespace plimsoll
