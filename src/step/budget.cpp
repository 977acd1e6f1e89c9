#include "step/budget.h"

#include <algorithm>

namespace plimsoll {
namespace {

// Bytes of the process when the session follows that point; the session is planned like that then.
std::int64_t bytes_with(Session& session, const PlanPoint& point, const Surroundings& around) {
  session.plan(point.fates, point.offsets);
  return process_bytes(session, around, session.arena_bytes());
}

// Data can be read by one worker where several do not fit.
Surroundings with_fewest_workers(const Surroundings& around) {
  return around.with_workers(std::min(around.workers, 1));
}

}  // namespace

std::int64_t smallest_bytes(Session& session, const BudgetRequest& request) {
  return bytes_with(session, find_smallest(session.problem(0), request.means),
                    with_fewest_workers(request.around));
}

RunPlan plan_within(Session& session, const BudgetRequest& request) {
  const Problem problem = session.problem(0);
  RunPlan plan;
  plan.frontier = cached_frontier(problem, request.means, request.cache);
  const std::vector<PlanPoint>& points = plan.frontier.points;
  const Surroundings& around = request.around;
  plan.workers = around.workers;
  plan.unlimited_bytes = bytes_with(session, points.front(), around);
  plan.floor_bytes = bytes_with(session, points.back(), with_fewest_workers(around));
  // The frontier is that of the first tape. Others (the early parts of a batch, its partial last
  // one, evaluation) live in the same arena and may be larger: only planning them all tells. A
  // point of a larger arena and a shorter tape may total a little less than the floor; the floor
  // stands.
  const std::int64_t residents = session.resident_bytes();
  const auto fits = [&](const PlanPoint& point) {
    return request.bytes >= plan.floor_bytes && residents + point.bytes <= request.bytes &&
           bytes_with(session, point, around) <= request.bytes;
  };
  plan.point = static_cast<std::size_t>(std::ranges::find_if(points, fits) - points.begin());
  if (plan.point == points.size()) {
    --plan.point;
    const auto total = [&] {
      return process_bytes(session, around.with_workers(plan.workers), session.arena_bytes());
    };
    session.plan(plan.fates(), points.back().offsets);
    while (plan.workers > std::min(around.workers, 1) && total() > request.bytes) --plan.workers;
  }
  const Surroundings chosen = around.with_workers(plan.workers);
  plan.total_bytes = process_bytes(session, chosen, session.arena_bytes());
  plan.fits = plan.total_bytes <= request.bytes;
  plan.ledger = make_ledger(session, chosen, plan.fates());
  for (const Problem::Node& node : problem.nodes()) plan.step_seconds += node.seconds;
  plan.slowdown_percent = 100 * points[plan.point].extra_seconds / plan.step_seconds;
  return plan;
}

}  // namespace plimsoll
