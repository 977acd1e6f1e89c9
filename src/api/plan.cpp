#include <plimsoll/plan.h>

#include "api/settings.h"
#include "job/ready.h"
#include "machine/team.h"

namespace plimsoll::v1 {

Plan make_plan(const Settings& settings) {
  job::RunSettings s = api::run_settings(settings);
  const int threads = team_size();
  const job::Budget budget = job::find_budget(s.memory);
  std::optional<job::TrainingData> data;
  if (!s.data.empty()) data = job::load_data(s, budget, threads, {});
  const job::TrainingData* given = data ? &*data : nullptr;
  const job::Ready ready = job::make_ready(s, given, budget, threads);
  const RunPlan& found = ready.run.plan;
  Plan plan{.fits = found.fits,
            .batch = s.model.batch,
            .budget_bytes = budget.bytes,
            .total_bytes = found.total_bytes,
            .floor_bytes = found.floor_bytes,
            .unlimited_bytes = found.unlimited_bytes,
            .slowdown_percent = found.slowdown_percent};
  for (const plimsoll::LedgerLine& line : found.ledger.lines)
    plan.ledger.push_back({std::string(line.line), line.bytes});
  if (!found.fits)
    for (const job::Lever& lever :
         job::find_levers(job::variants_of(s, given, threads), s.memory, ready.run))
      plan.levers.push_back({lever.option, lever.floor_bytes, lever.note});
  return plan;
}

}  // namespace plimsoll::v1
