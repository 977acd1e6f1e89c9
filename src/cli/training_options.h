// What `plan` and `train` have in common: the same words make the same trainer and the same plan.
#pragma once

#include <optional>
#include <string>

#include "cli/memory_options.h"
#include "cli/options.h"
#include "data/images.h"

namespace plimsoll::cli {

struct TrainingData {
  Images train;
  Images test;
};

struct TrainingOptions {
  CommonOptions common;
  ModelOptions model;
  OptimizerOptions optimizer;
  LossOptions loss;
  MemoryOptions memory;
  std::string data;
  bool drop_last = false;
  std::int64_t seed = 0;

  void add_to(CLI::App& command);
  // Checks everything that needs no data.
  void check(const CLI::App& command);
  // Reads DATA and takes sizes and classes from it where none were named; nothing without DATA.
  std::optional<TrainingData> load_data();

  // Trainers of this network and data. Without data: one batch size, trained and evaluated.
  VariantMaker maker(const TrainingData* data, int threads) const;
};

// Makes the trainer and its plan, `--batch max` resolved into options.model.batch.
struct Ready {
  Trainer trainer;
  PlannedRun run;
};
Ready make_ready(TrainingOptions& options, const TrainingData* data, const Budget& budget,
                 int threads);

}  // namespace plimsoll::cli
