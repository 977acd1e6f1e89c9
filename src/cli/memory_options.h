// Options that bound memory, the same in `plan` and `train`.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "data/data.h"
#include "step/budget.h"
#include "step/trainer.h"

namespace plimsoll::cli {

struct MemoryOptions {
  std::string memory;         // empty: what container and machine leave
  std::string stash = "f32";  // or f16
  std::string spill;          // directory; empty: no spilling
  std::int64_t accumulate = 1;

  void add_to(CLI::App& command);
  // Checks all of them; UsageError, DataError for a spill directory that cannot be used.
  void check() const;
  Means means() const { return {.half = stash == "f16", .spill = !spill.empty()}; }
};

struct Budget {
  std::int64_t bytes = 0;
  std::string bound_by;  // "--memory" or what limits the process
};

// The budget that was asked for or found; warns on standard error when more was asked for than
// there is.
Budget find_budget(const MemoryOptions& options);

// What a scan before a run may hold to read and decode: the budget less what the process has.
Bytes left_to_scan(const Budget& budget);
// BudgetError that names the pictures which could not be decoded within that, if there are any.
void check_fits(const ScanReport& report, const Budget& budget);

// What a run holds beside its arena when it reads data like this.
Surroundings surroundings(const PipelineBytes& bytes, int threads);

// A run like the one asked for, with another batch, number of micro-batches or threads.
struct Variant {
  Trainer trainer;
  Surroundings around;
};
struct VariantMaker {
  std::function<Variant(std::int64_t batch, std::int64_t accumulate, int threads)> make;
  int threads = 1;  // the OpenMP team has so many

  Variant operator()(std::int64_t batch, std::int64_t accumulate) const {
    return make(batch, accumulate, threads);
  }
};

// Everything about one planned run that its printers need.
struct PlannedRun {
  Budget budget;
  BudgetRequest request;
  std::int64_t batch = 0;
  RunPlan plan;
};

// Sets measured kernel times and plans; `batch` is in options, "max" having been resolved.
PlannedRun plan_run(Variant& variant, const MemoryOptions& options, const Budget& budget,
                    std::int64_t batch);

// The largest batch that a plan was made for within the budget; 0 if none.
std::int64_t largest_batch(const VariantMaker& make, const PlannedRun& run,
                           std::int64_t accumulate);

// What one change of the request would do. A promise: the same command with that option has a plan
// of floor_bytes, which was made.
struct Lever {
  std::string option;  // "--batch 12"
  std::int64_t floor_bytes = 0;
  std::string note;
};
std::vector<Lever> find_levers(const VariantMaker& make, const MemoryOptions& options,
                               const PlannedRun& run);

// The refusal of a run that does not fit: what binds, the smallest budget, and the levers.
BudgetError refusal(const Trainer& trainer, const PlannedRun& run,
                    const std::vector<Lever>& levers);

}  // namespace plimsoll::cli
