#include "step/budget.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "base/memory_usage.h"

namespace plimsoll {
namespace {

// All tapes by that point of the first one's frontier.
PlannedTapes plan_at(const PreparedTapes& tapes, const Problem& problem, const PlanPoint& point) {
  return tapes.plan(name_fates(problem, point.fates), point.offsets);
}

std::int64_t bytes_of(const PlannedTapes& planned, const Surroundings& around) {
  return process_bytes(planned, around, planned.arena_bytes());
}

// Data can be read by one worker where several do not fit.
Surroundings with_fewest_workers(const Surroundings& around) {
  return around.with_workers(std::min(around.workers, 1));
}

}  // namespace

std::int64_t smallest_bytes(const PreparedTapes& tapes, const BudgetRequest& request) {
  const Problem problem = tapes.problem(0);
  return bytes_of(plan_at(tapes, problem, find_smallest(problem, request.means)),
                  with_fewest_workers(request.around));
}

RunPlan plan_within(Trainer& trainer, const BudgetRequest& request) {
  const PreparedTapes& tapes = trainer.tapes();
  const Problem problem = tapes.problem(0);
  RunPlan plan;
  plan.frontier = cached_frontier(problem, request.means, request.cache);
  const std::vector<PlanPoint>& points = plan.frontier.points;
  const Surroundings& around = request.around;
  plan.workers = around.workers;
  plan.unlimited_bytes = bytes_of(plan_at(tapes, problem, points.front()), around);
  plan.floor_bytes = bytes_of(plan_at(tapes, problem, points.back()), with_fewest_workers(around));
  plan.floor_fates = name_fates(problem, points.back().fates);
  // The frontier is that of the first tape. Others (the early parts of a batch, its partial last
  // one, evaluation) live in the same arena and may be larger: only planning them all tells. A
  // point of a larger arena and a shorter tape may total a little less than the floor; the floor
  // stands.
  std::optional<PlannedTapes> chosen;
  const auto fits = [&](const PlanPoint& point) {
    if (request.bytes < plan.floor_bytes || tapes.resident_bytes() + point.bytes > request.bytes)
      return false;
    chosen = plan_at(tapes, problem, point);
    return bytes_of(*chosen, around) <= request.bytes;
  };
  plan.point = static_cast<std::size_t>(std::ranges::find_if(points, fits) - points.begin());
  if (plan.point == points.size()) {
    --plan.point;
    chosen = plan_at(tapes, problem, points.back());
    while (plan.workers > std::min(around.workers, 1) &&
           bytes_of(*chosen, around.with_workers(plan.workers)) > request.bytes)
      --plan.workers;
  }
  const Surroundings beside = around.with_workers(plan.workers);
  plan.fates = name_fates(problem, points[plan.point].fates);
  plan.total_bytes = bytes_of(*chosen, beside);
  plan.fits = plan.total_bytes <= request.bytes;
  plan.ledger = make_ledger(*chosen, beside, plan.fates);
  for (const Problem::Node& node : problem.nodes()) plan.step_seconds += node.seconds;
  plan.slowdown_percent = 100 * points[plan.point].extra_seconds / plan.step_seconds;
  trainer.plan(*chosen);
  return plan;
}

void check_held(const RunPlan& plan, Bytes budget, const std::string& bound_by, Bytes now) {
  // The kernel counts a thread's pages in lots of 64 and may be that much behind for each; a line
  // that is a page short is no reason to refuse what control groups have let pass. What another
  // libc or oneDNN adds is larger.
  constexpr Bytes kMargin = 2_MiB;
  const Bytes needed = now + Bytes{plan.ledger.to_come()};
  if (!kUsageIsOwn || budget == kUnlimited || needed <= budget + kMargin) return;
  const Bytes held{plan.ledger.total() - plan.ledger.to_come()};
  std::string beside;
  for (const LedgerLine& line : plan.ledger.lines)
    if (line.kind == LineKind::by_rule)
      beside += (beside.empty() ? "" : ", ") + line.line + " " + to_string(Bytes{line.bytes});
  throw BudgetError(
      {.where = "budget " + to_string(budget) + " (" + bound_by + ")",
       .got = "before the first step the process holds " + to_string(now) +
              ", where the ledger has " + to_string(held) + "; " +
              to_string(Bytes{plan.ledger.to_come()}) + " are still to come",
       .expected = "expected no more than its lines; those that follow rules, not the plan, are " +
                   beside + ". Nothing was trained",
       .hint = "libraries here hold more than those the rules were calibrated with: please report "
               "it; --memory unlimited trains without a promise"});
}

}  // namespace plimsoll
