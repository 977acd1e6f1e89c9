#include "train/budget.h"

#include <algorithm>

namespace plimsoll {

RunPlan plan_within(Session& session, const BudgetRequest& request) {
  const Problem problem = session.problem(0);
  RunPlan plan;
  plan.frontier = cached_frontier(problem, request.means, request.cache);
  // Evaluation lives in the same arena; where it is the larger one, smaller plans gain nothing.
  std::int64_t others = 0;
  session.plan(plan.frontier.points.back().fates, plan.frontier.points.back().offsets);
  for (std::size_t t = 1; t < session.tapes(); ++t)
    others = std::max(others, session.tape(t).arena_bytes);
  const Surroundings& around = request.around;
  const auto total = [&](const PlanPoint& point, int workers) {
    const std::int64_t arena = std::max(session.resident_bytes() + point.bytes, others);
    return process_bytes(session, around.with_workers(workers), arena);
  };
  const std::vector<PlanPoint>& points = plan.frontier.points;
  const int fewest = std::min(around.workers, 1);
  plan.floor_bytes = total(points.back(), fewest);
  plan.unlimited_bytes = total(points.front(), around.workers);
  plan.point = points.size() - 1;
  plan.workers = around.workers;
  const auto found = std::ranges::find_if(points, [&](const PlanPoint& point) {
    return total(point, around.workers) <= request.bytes;
  });
  if (found != points.end())
    plan.point = static_cast<std::size_t>(found - points.begin());
  else
    while (plan.workers > fewest && total(points.back(), plan.workers) > request.bytes)
      --plan.workers;
  session.plan(plan.fates(), points[plan.point].offsets);
  const Surroundings chosen = around.with_workers(plan.workers);
  plan.total_bytes = process_bytes(session, chosen, session.arena_bytes());
  plan.fits = plan.total_bytes <= request.bytes;
  plan.ledger = make_ledger(session, chosen, plan.fates());
  for (const Problem::Node& node : problem.nodes()) plan.step_seconds += node.seconds;
  plan.slowdown_percent = 100 * points[plan.point].extra_seconds / plan.step_seconds;
  return plan;
}

}  // namespace plimsoll
