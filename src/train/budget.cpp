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
  const auto total = [&](const PlanPoint& point) {
    const std::int64_t arena = std::max(session.resident_bytes() + point.bytes, others);
    return process_bytes(session, request.around, arena);
  };
  const std::vector<PlanPoint>& points = plan.frontier.points;
  plan.floor_bytes = total(points.back());
  plan.unlimited_bytes = total(points.front());
  plan.point = points.size() - 1;
  for (std::size_t i = 0; i < points.size(); ++i)
    if (total(points[i]) <= request.bytes) {
      plan.point = i;
      break;
    }
  session.plan(plan.fates(), points[plan.point].offsets);
  plan.total_bytes = process_bytes(session, request.around, session.arena_bytes());
  plan.fits = plan.total_bytes <= request.bytes;
  plan.ledger = make_ledger(session, request.around, plan.fates());
  for (const Problem::Node& node : problem.nodes()) plan.step_seconds += node.seconds;
  plan.slowdown_percent = 100 * points[plan.point].extra_seconds / plan.step_seconds;
  return plan;
}

}  // namespace plimsoll
