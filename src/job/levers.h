// Runs like one that was asked for: the plan of each, the largest batch that fits, and what to
// change where nothing does.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/error.h"
#include "data/data.h"
#include "job/memory_settings.h"
#include "step/budget.h"
#include "step/trainer.h"

namespace plimsoll::job {

// What a run holds beside its arena when it reads data like this.
Surroundings surroundings(const PipelineBytes& bytes, int threads);

// A run like the one asked for, with another batch, number of micro-batches or threads.
struct Variant {
  Trainer trainer;
  Surroundings around;
};
struct VariantMaker {
  std::function<Variant(std::int64_t batch, std::int64_t accumulate, int threads)> make;
  // With images in bf16; empty where they are.
  std::function<Variant(std::int64_t batch, std::int64_t accumulate)> make_short = {};
  int threads = 1;         // the OpenMP team has so many
  std::int64_t ranks = 1;  // that share a batch: of the smallest each has an image
  bool syncs = false;      // BatchNorms: parts run at once, and none of them spills

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
PlannedRun plan_run(Variant& variant, const MemorySettings& options, const Budget& budget,
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
std::vector<Lever> find_levers(const VariantMaker& make, const MemorySettings& options,
                               const PlannedRun& run);

// The refusal of a run that does not fit: what binds, the smallest budget, and the levers.
BudgetError refusal(const Trainer& trainer, const PlannedRun& run,
                    const std::vector<Lever>& levers);

}  // namespace plimsoll::job
