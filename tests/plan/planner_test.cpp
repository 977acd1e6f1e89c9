// Plans of real networks at every budget: they exist or are refused, they are checked, and more
// memory never plans slower.
#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "base/error.h"
#include "plan/carry.h"
#include "plan/plan.h"
#include "plan/schedule.h"
#include "step/budget.h"
#include "tests/support/mini_networks.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/zoo_trainer.h"

namespace plimsoll {
namespace {

Trainer make_trainer(std::string_view name, std::int64_t batch, std::int64_t accumulate = 1) {
  return zoo_trainer(name, batch, {.accumulate = accumulate, .evaluate_batches = {batch}});
}

// 1 %, and of arenas of a few MiB, in which the scratch of one kernel is a large piece, 256 KiB.
void expect_hardly_any_gaps(const Problem& problem, const Frontier& frontier) {
  Scheduler scheduler(problem);
  for (const PlanPoint& point : frontier.points) {
    ASSERT_TRUE(scheduler.run(point.fates));
    const auto bound = static_cast<double>(scheduler.peak().bytes);
    EXPECT_LE(static_cast<double>(point.bytes), bound + std::max(0.01 * bound, 0x1p18))
        << point.bytes << " bytes for " << scheduler.peak().bytes;
  }
}

class Planner : public testing::TestWithParam<const char*> {
 protected:
  const TemporaryFolder cache_;  // a test that read another's frontiers would not plan
  Trainer trainer_ = make_trainer(GetParam(), 16);
  const Problem problem_ = trainer_.tapes().problem(0);

  // Found by the first test that asks: it is the same for all of them.
  const Frontier& frontier(const Means& means = {}) const {
    static std::map<std::tuple<std::string, bool, bool>, Frontier> found;
    const std::tuple key(std::string(GetParam()), means.half, means.spill);
    const auto at = found.find(key);
    return at != found.end() ? at->second
                             : found.emplace(key, find_frontier(problem_, means)).first->second;
  }
};

// PreparedTapes::plan aborts when the checker finds a fault, so planning is checking.
TEST_P(Planner, ReachesEveryBudgetFromTheFloorUpAndNeverSlowerWithMore) {
  for (const Means means : {Means{}, Means{.half = true}, Means{.spill = true}}) {
    const auto plan_with = [&](std::int64_t bytes) {
      return plan_within(trainer_, {.bytes = bytes, .means = means, .cache = cache_.path()});
    };
    const RunPlan floor = plan_with(1);
    EXPECT_FALSE(floor.fits);
    EXPECT_EQ(floor.total_bytes, floor.floor_bytes);
    double slowest = 1e9;
    for (int i = 0; i <= 12; ++i) {
      const std::int64_t budget =
          floor.floor_bytes + (floor.unlimited_bytes - floor.floor_bytes) * i / 12;
      const RunPlan plan = plan_with(budget);
      EXPECT_TRUE(plan.fits);
      EXPECT_LE(plan.total_bytes, budget);
      EXPECT_EQ(plan.ledger.total(), plan.total_bytes);
      EXPECT_LE(plan.slowdown_percent, slowest);
      slowest = plan.slowdown_percent;
    }
    EXPECT_EQ(slowest, 0);
    EXPECT_FALSE(plan_with(floor.floor_bytes - 1).fits);
  }
}

// The last part of a batch is planned, and the early ones, which have other values, follow it.
TEST_P(Planner, ReachesEveryBudgetFromTheFloorUpWithABatchInParts) {
  Trainer trainer = make_trainer(GetParam(), 11, 2);
  const auto plan_with = [&](std::int64_t bytes) {
    return plan_within(trainer, {.bytes = bytes, .cache = cache_.path()});
  };
  const RunPlan floor = plan_with(1);
  for (int i = 0; i <= 24; ++i) {
    const std::int64_t budget =
        floor.floor_bytes + (floor.unlimited_bytes - floor.floor_bytes) * i / 24;
    const RunPlan plan = plan_with(budget);
    EXPECT_TRUE(plan.fits) << budget << " of " << floor.floor_bytes << " needed";
    EXPECT_LE(plan.total_bytes, budget);
  }
}

TEST_P(Planner, FindsTheFloorAloneAsItFindsItWithTheFrontier) {
  for (const Means means : {Means{}, Means{.half = true}, Means{.spill = true}}) {
    EXPECT_EQ(find_smallest(problem_, means), frontier(means).points.back());
    const BudgetRequest request{.means = means, .cache = cache_.path()};
    const std::int64_t smallest = smallest_bytes(trainer_.tapes(), request);
    EXPECT_EQ(smallest, plan_within(trainer_, request).floor_bytes);
  }
}

TEST_P(Planner, CarriesFatesToAnotherGraphOfTheNetworkByName) {
  Fates fates = problem_.all(Fate::keep);
  for (std::size_t i = 0; i < problem_.choices().size(); i += 3)
    fates[static_cast<std::size_t>(problem_.choices()[i])] = Fate::redo_once;
  const NamedFates named = name_fates(problem_, fates);
  const CarriedFates back = carry_fates(named, problem_);
  EXPECT_TRUE(back.is_whole());
  EXPECT_EQ(back.fates, fates);

  const Trainer parts = make_trainer(GetParam(), 16, 2);
  const Problem other = parts.tapes().problem(0);
  const CarriedFates carried = carry_fates(named, other);
  ASSERT_EQ(carried.fates.size(), other.graph().values().size());
  std::size_t redone = 0;
  for (const std::int32_t root : other.choices()) {
    const auto at = static_cast<std::size_t>(root);
    const auto found = named.find(other.graph().values()[at].name);
    EXPECT_EQ(carried.fates[at], found == named.end() ? Fate::keep : found->second);
    redone += carried.fates[at] == Fate::redo_once ? 1 : 0;
  }
  EXPECT_GT(redone, 3U);
  EXPECT_EQ(redone + carried.unknown.size(), named.size());
}

TEST_P(Planner, SaysWhichFatesCannotBeCarried) {
  const auto name = [&](auto has) {
    for (std::size_t v = 0; v < problem_.roots().size(); ++v)
      if (has(problem_.roots()[v])) return problem_.graph().values()[v].name;
    return std::string();
  };
  const std::string chosen = name([](const Problem::Root& root) { return root.has_choice; });
  const std::string whole =
      name([](const Problem::Root& root) { return root.has_choice && root.half_bytes == 0; });
  NamedFates named{{chosen, Fate::redo_each}, {"image", Fate::spill}, {"nobody", Fate::redo_once}};
  if (!whole.empty()) named[whole] = Fate::half;
  const CarriedFates carried = carry_fates(named, problem_);
  EXPECT_FALSE(carried.is_whole());
  EXPECT_EQ(carried.unknown, (std::vector<std::string>{"image", "nobody"}));
  EXPECT_EQ(carried.forbidden.size(), whole.empty() ? 0U : 1U);
  Fates expected = problem_.all(Fate::keep);
  if (chosen != whole) expected[problem_.graph().find(chosen).at()] = Fate::redo_each;
  EXPECT_EQ(carried.fates, expected);
}

TEST_P(Planner, FindsTheSameFrontierTwiceAndReadsItBackFromItsText) {
  const Frontier& first = frontier();
  const Frontier second = find_frontier(problem_, {});
  EXPECT_EQ(first.points, second.points);
  const std::uint64_t key = frontier_key(problem_, {});
  std::string text = frontier_text(first, key, problem_);
  const auto read = parse_frontier(text, key, problem_);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->points, first.points);
  EXPECT_FALSE(parse_frontier(text, key + 1, problem_));
  text[text.size() / 2] ^= 1;
  EXPECT_FALSE(parse_frontier(text, key, problem_));
}

TEST_P(Planner, AForgedFrontierIsNotTaken) {
  const Frontier& good = frontier();
  const std::uint64_t key = frontier_key(problem_, {});
  const auto is_taken = [&](auto change) {
    Frontier forged = good;
    change(forged.points);
    return parse_frontier(frontier_text(forged, key, problem_), key, problem_).has_value();
  };
  using Points = std::vector<PlanPoint>;
  EXPECT_TRUE(is_taken([](Points&) {}));
  EXPECT_FALSE(is_taken([](Points& p) { p.back().offsets.pop_back(); }));
  EXPECT_FALSE(is_taken([](Points& p) { p.back().offsets.clear(); }));
  EXPECT_FALSE(is_taken([](Points& p) { p.back().bytes -= 64; }));
  EXPECT_FALSE(is_taken([](Points& p) { p.back().extra_seconds /= 2; }));
  EXPECT_FALSE(is_taken([](Points& p) { p.back().fates = p.front().fates; }));
  EXPECT_FALSE(is_taken([](Points& p) { std::swap(p.front(), p.back()); }));
  // All blocks over one another, and a size that agrees.
  EXPECT_FALSE(is_taken([&](Points& p) {
    Scheduler scheduler(problem_);
    ASSERT_TRUE(scheduler.run(p.back().fates));
    std::fill(p.back().offsets.begin(), p.back().offsets.end(), 0);
    p.back().bytes = 0;
    for (const Block& block : scheduler.blocks())
      p.back().bytes = std::max(p.back().bytes, block.bytes);
  }));
}

TEST_P(Planner, RecomputesInPlaceOfKeepingAndSavesMemory) {
  EXPECT_LT(3 * frontier().floor(), 2 * frontier().unlimited());
  EXPECT_EQ(frontier().points.front().extra_seconds, 0);
  EXPECT_GT(frontier().points.back().extra_seconds, 0);
}

TEST_P(Planner, MoreMeansNeverEndInALargerPlan) {
  const std::int64_t floor = frontier().floor();
  EXPECT_LE(frontier({.half = true}).floor(), floor);
  EXPECT_LE(frontier({.spill = true}).floor(), floor);
}

TEST_P(Planner, PricesDoNotMoveTheFloor) {
  const std::int64_t floor = frontier().floor();
  std::vector<NodeWork> work(problem_.request().work.begin(), problem_.request().work.end());
  for (std::size_t n = 0; n < work.size(); ++n) work[n].seconds = n % 7 == 0 ? 1e-3 : 1e-6;
  PlanRequest request = problem_.request();
  request.work = work;
  EXPECT_EQ(find_frontier(Problem(request), {}).floor(), floor);
}

TEST_P(Planner, WritesPlansThatReadBackAsTheyWere) {
  for (const Fate fate : {Fate::keep, Fate::redo_once, Fate::half, Fate::spill, Fate::half_once}) {
    const Tape tape = make_tape(problem_, problem_.all(fate));
    const std::string text = plan_text(tape, problem_.graph());
    EXPECT_EQ(parse_plan(text, problem_.graph(), "plan"), tape);
  }
}

TEST_P(Planner, LeavesHardlyAnyGapsBetweenTensors) {
  for (const Means means : {Means{}, Means{.half = true}})
    expect_hardly_any_gaps(problem_, frontier(means));
}

TEST_P(Planner, PutsThingsWhereTheFrontierSays) {
  for (const PlanPoint& point : frontier({.half = true}).points)
    EXPECT_EQ(make_tape(problem_, point.fates, point.offsets), make_tape(problem_, point.fates));
}

TEST_P(Planner, UnpacksOnceWhatItThenKeeps) {
  const auto count = [&](Fate fate, StepKind kind) {
    const Tape tape = make_tape(problem_, problem_.all(fate));
    return std::count_if(tape.instructions.begin(), tape.instructions.end(),
                         [&](const Instruction& step) {
                           const bool packs_too = kind == StepKind::pack && step.packed >= 0;
                           return step.kind == kind || packs_too;
                         });
  };
  EXPECT_EQ(count(Fate::half, StepKind::pack), count(Fate::half_once, StepKind::pack));
  EXPECT_LE(count(Fate::half_once, StepKind::unpack), count(Fate::half_once, StepKind::pack));
  EXPECT_LT(count(Fate::half_once, StepKind::unpack), count(Fate::half, StepKind::unpack));
}

TEST_P(Planner, PacksWhatIsBeforeABatchNormAsItsStatisticsAreTaken) {
  const Tape tape = make_tape(problem_, problem_.all(Fate::half));
  int packed = 0;
  for (const Instruction& step : tape.instructions) {
    if (step.packed < 0) continue;
    EXPECT_EQ(problem_.graph().node(step.node).op->name, "bn_stats");
    ++packed;
  }
  EXPECT_GT(packed, 5);
}

TEST_P(Planner, PricesConversionsByWhatCheapKernelsTake) {
  std::vector<NodeWork> work(problem_.request().work.begin(), problem_.request().work.end());
  for (NodeWork& node : work) node.seconds = 3 * node.nominal_seconds;
  PlanRequest request = problem_.request();
  request.work = work;
  const Problem slow(request);
  EXPECT_NEAR(slow.pass_seconds(1 << 20), 3 * problem_.nominal_pass_seconds(1 << 20), 1e-9);
  EXPECT_EQ(slow.nominal_pass_seconds(1 << 20), problem_.nominal_pass_seconds(1 << 20));
}

TEST_P(Planner, SpillsOnlyWhatItReadsBackWhole) {
  const Tape tape = make_tape(problem_, problem_.all(Fate::spill));
  EXPECT_FALSE(tape.transfers.empty());
  for (const Transfer& transfer : tape.transfers) EXPECT_LE(transfer.begin, transfer.end);
}

INSTANTIATE_TEST_SUITE_P(Networks, Planner, mini_networks(), network_name);

TEST(Planner, RefusesAPlanOfAnotherNetwork) {
  Trainer one = make_trainer("resnet20", 4);
  Trainer other = make_trainer("inception_mini", 4);
  const Problem problem = one.tapes().problem(0);
  const std::string text = plan_text(make_tape(problem, problem.all(Fate::keep)), problem.graph());
  EXPECT_THROW(parse_plan(text, other.tapes().graph(0), "plan"), DataError);
}

TEST(Planner, AccumulationNeedsLessThanTheWholeBatch) {
  Trainer whole = make_trainer("inception_mini", 64);
  Trainer parts = make_trainer("inception_mini", 64, 8);
  EXPECT_LT(plan_within(parts, {}).floor_bytes, plan_within(whole, {}).floor_bytes);
}

}  // namespace
}  // namespace plimsoll
