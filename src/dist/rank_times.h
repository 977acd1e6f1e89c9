// Where the time of a step goes when several ranks take it together.
#pragma once

#include <span>
#include <vector>

namespace plimsoll::dist {

// A step as one rank saw it, in seconds.
struct StepTime {
  double seconds = 0;  // all of it
  double waited = 0;   // of that, until what others send was there
};
// Those of one rank, one behind the other.
using StepTimes = std::vector<StepTime>;

// Of one rank, medians over steps.
struct RankTimes {
  double seconds = 0;
  double compute = 0;
  double exchange = 0;  // that nothing hides
  double waiting = 0;   // for ranks that came later
};

// The last to come waits for nobody: what it waits is the exchange itself, and what another waits
// beyond that it waits for the last. So no two ranks need to have the same clock. All have as many
// steps, and there is one.
std::vector<RankTimes> split_times(std::span<const StepTimes> ranks);

// Seconds of a step of all: the median over steps of the slowest rank.
double step_seconds(std::span<const StepTimes> ranks);

// How much a rank's computing varies, as a share of it: the deviation with which the slowest of so
// many would be as slow as the slowest was.
double spread_of(std::span<const StepTimes> ranks);

// By how many deviations the largest of `count` values is expected to exceed their mean.
double expected_excess(int count);

// Of at least one value.
double median(std::vector<double> values);

}  // namespace plimsoll::dist
