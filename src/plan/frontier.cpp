#include "plan/frontier.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "plan/place.h"
#include "plan/schedule.h"
#include "plan/search.h"
#include "plan/seeds.h"

namespace plimsoll {
namespace {

// At most `most`; fewer where one takes longer, so that the largest networks are planned in time.
int tries_for(const Problem& problem, int most) {
  const auto nodes = static_cast<double>(problem.nodes().size() + 1);
  return static_cast<int>(
      std::min({static_cast<double>(most), 2e6 / nodes, 1.8e9 / (nodes * nodes)}));
}

// The smallest plan that can be found, by nominal prices alone.
Fates find_floor(const Problem& problem, const Means& means, const std::vector<Fates>& seeds) {
  Archive archive;
  Search search(problem, means, Price::nominal, archive);
  std::vector<std::pair<std::int64_t, std::size_t>> by_peak;
  for (std::size_t i = 0; i < seeds.size(); ++i)
    by_peak.emplace_back(search.score(seeds[i]).peak, i);
  std::sort(by_peak.begin(), by_peak.end());
  std::int64_t lowest = 0;
  Fates best;
  for (std::size_t i = 0; i < std::min<std::size_t>(4, by_peak.size()); ++i) {
    Fates fates = seeds[by_peak[i].second];
    for (double share : {0.97, 0.94, 0.9, 0.85, 0.8, 0.7})
      search.repair(fates,
                    static_cast<std::int64_t>(share * static_cast<double>(by_peak[i].first)));
    search.sink(fates, tries_for(problem, 2000));
    const std::int64_t peak = search.score(fates).peak;
    if (!best.empty() && peak >= lowest) continue;
    lowest = peak;
    best = fates;
  }
  return best;
}

// What `fates` keep, by another fate where it is permitted.
Fates kept_as(const Problem& problem, Fates fates, Fate other) {
  for (std::int32_t root : problem.choices()) {
    Fate& fate = fates[static_cast<std::size_t>(root)];
    if (fate == Fate::keep && problem.permits(root, other)) fate = other;
  }
  return fates;
}

// Where the search over a frontier begins: cuts of the network into segments, and the floor.
struct Start {
  std::vector<Fates> seeds;
  Fates plain_floor;  // without means that must be asked for; empty where none were
  Fates floor;
};

Start start_search(const Problem& problem, const Means& means) {
  Start start{.seeds = segment_seeds(problem), .plain_floor = {}, .floor = {}};
  std::vector<Fates>& seeds = start.seeds;
  seeds.push_back(problem.cheap());
  // More means must not end in a larger plan, so they start from what fewer can do.
  if (means.half || means.spill) start.plain_floor = find_floor(problem, {}, seeds);
  if (means.half)
    for (std::size_t i = 0, whole = seeds.size(); i < whole; ++i)
      for (const Fate fate : {Fate::half, Fate::half_once})
        seeds.push_back(kept_as(problem, seeds[i], fate));
  if (means.spill) seeds.push_back(problem.all(Fate::spill));
  if (!start.plain_floor.empty()) seeds.push_back(start.plain_floor);
  start.floor = find_floor(problem, means, seeds);
  return start;
}

PlanPoint place_plan(Scheduler& scheduler, const Fates& fates) {
  expect(scheduler.run(fates), "a plan that was scheduled before");
  Placement placement = place(scheduler.blocks());
  return {.bytes = placement.top,
          .extra_seconds = scheduler.schedule().extra_seconds,
          .fates = fates,
          .offsets = std::move(placement.offset)};
}

PlanPoint smallest_of(const Problem& problem, const Start& start) {
  Scheduler scheduler(problem);
  PlanPoint least = place_plan(scheduler, start.floor);
  if (start.plain_floor.empty()) return least;
  PlanPoint plain = place_plan(scheduler, start.plain_floor);
  return plain.bytes < least.bytes ? plain : least;
}

}  // namespace

const PlanPoint* Frontier::best_within(std::int64_t bytes) const {
  for (const PlanPoint& point : points)
    if (point.bytes <= bytes) return &point;
  return nullptr;
}

PlanPoint find_smallest(const Problem& problem, const Means& means) {
  return smallest_of(problem, start_search(problem, means));
}

Frontier find_frontier(const Problem& problem, const Means& means) {
  const Fates keep = problem.all(Fate::keep);
  const Start start = start_search(problem, means);
  const std::vector<Fates>& seeds = start.seeds;
  const Fates& floor = start.floor;

  Archive archive;
  Search search(problem, means, Price::known, archive);
  const std::int64_t top = search.score(keep).peak;
  const std::int64_t bottom = search.score(floor).peak;
  for (const Fates& seed : seeds) search.score(seed);
  // Down from keeping everything, each target from the plan before it.
  constexpr int kTargets = 32;
  std::vector<std::int64_t> targets;
  for (int i = 1; i <= kTargets; ++i)
    targets.push_back(static_cast<std::int64_t>(
        static_cast<double>(top) *
        std::pow(static_cast<double>(bottom) / static_cast<double>(top), i / double{kTargets})));
  Fates fates = keep;
  for (std::int64_t target : targets)
    if (!search.repair(fates, target)) break;
  // Up again from the floor, with whatever is best so far as a start.
  double step_seconds = 0;
  for (const Problem::Node& node : problem.nodes()) step_seconds += node.seconds;
  const int tries = tries_for(problem, 2500);
  for (auto target = targets.rbegin(); target != targets.rend(); ++target) {
    // The archive keeps one plan for a range of sizes, so the only one below a target may go.
    const auto take_best = [&] {
      const Archive::Entry* best = archive.best_within(*target);
      if (best != nullptr) fates = best->fates;
      return best != nullptr;
    };
    if (!take_best()) continue;
    search.promote(fates, *target);
    take_best();
    search.anneal(fates, *target, step_seconds, tries);
    take_best();
    search.promote(fates, *target);
  }

  Frontier frontier;
  Scheduler scheduler(problem);
  PlanPoint least = smallest_of(problem, start);
  std::int64_t previous = 0;
  for (const Archive::Entry& entry : archive.pareto()) {
    // Points closer than this are not worth their placement.
    if (previous > 0 && entry.score.peak > previous - previous / 80) continue;
    PlanPoint point = place_plan(scheduler, entry.fates);
    const bool leaves_gaps = point.bytes > entry.score.peak + entry.score.peak / 100;
    previous = entry.score.peak;
    if (leaves_gaps) {
      // A plan of nearly this size that fits together stands for it.
      previous += previous / 120;
      if (!frontier.points.empty()) continue;
    }
    if (point.bytes > least.bytes) frontier.points.push_back(std::move(point));
  }
  frontier.points.push_back(std::move(least));
  // Placement may have changed the order: a point stays if every smaller one is slower.
  std::stable_sort(frontier.points.begin(), frontier.points.end(),
                   [](const PlanPoint& a, const PlanPoint& b) { return a.bytes > b.bytes; });
  std::vector<PlanPoint> useful;
  double fastest = std::numeric_limits<double>::infinity();
  for (auto point = frontier.points.rbegin(); point != frontier.points.rend(); ++point) {
    if (point->extra_seconds >= fastest) continue;
    fastest = point->extra_seconds;
    useful.push_back(std::move(*point));
  }
  std::reverse(useful.begin(), useful.end());
  frontier.points = std::move(useful);
  return frontier;
}

}  // namespace plimsoll
