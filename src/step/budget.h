// A trainer planned into a budget.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/bytes.h"
#include "step/ledger.h"
#include "step/trainer.h"

namespace plimsoll {

struct BudgetRequest {
  std::int64_t bytes = kUnlimited.count;  // of the whole process
  Means means;
  Surroundings around;
  std::filesystem::path cache;  // where frontiers are kept; empty: nowhere
};

// The frontier of a run in bytes of the whole process.
struct RunPlan {
  bool fits = false;  // otherwise everything below describes the floor
  std::int64_t total_bytes = 0;
  std::int64_t floor_bytes = 0;      // the smallest budget that fits
  std::int64_t unlimited_bytes = 0;  // of the fastest plan
  double step_seconds = 0;           // of the fastest plan, predicted
  double slowdown_percent = 0;       // against it, predicted
  Frontier frontier;
  std::size_t point = 0;   // index of the chosen one
  NamedFates fates;        // of that
  NamedFates floor_fates;  // of the smallest plan
  int workers = 0;         // that read data; fewer than asked for only where no plan fits with all
  Ledger ledger;
};

// Plans `trainer`: the fastest plan within the budget. Where not even the floor fits with all data
// workers, the floor with as many as fit: so more memory never plans slower. With one of them the
// floor is the smallest budget; what does not fit is described like that. Deterministic.
RunPlan plan_within(Trainer& trainer, const BudgetRequest& request);

// plan_within()'s floor_bytes, found without the rest of the frontier: in a fraction of its time.
std::int64_t smallest_bytes(const PreparedTapes& tapes, const BudgetRequest& request);

// Rules predict what lies beside the arena; other libraries than those they were calibrated with
// may hold more. So once the session is open and its kernels are ready, before the first step: is
// what the process holds, `now`, with the lines that come later still within the budget? Throws
// BudgetError with both figures where it is not. `bound_by` says whose budget it is.
void check_held(const RunPlan& plan, Bytes budget, const std::string& bound_by, Bytes now);

}  // namespace plimsoll
