// What `plan` and `train` have in common: the same words make the same trainer and the same plan.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "cli/data_options.h"
#include "cli/memory_options.h"
#include "cli/options.h"
#include "data/batch/pipeline_memory.h"
#include "data/data.h"
#include "task/make_task.h"

namespace plimsoll::cli {

// Sources without what the scan found bad, and the largest image of both.
struct TrainingData {
  SourcePtr train;
  SourcePtr validation;  // null: none
  LargestImage largest;
  std::uint64_t train_content = 0, validation_content = 0;  // see content_of
  std::vector<Complaint> skipped;
  std::vector<std::string> notes;  // what was chosen or passed over, for the log
};

struct TrainingOptions {
  CommonOptions common;
  ModelOptions model;
  OptimizerOptions optimizer;
  LossOptions loss;
  double l2 = 0;  // times the sum of squared weights
  MemoryOptions memory;
  DataOptions data_options;
  std::string data;
  std::string validation;  // data of its own
  double val_split = 0;    // or a share of the training data
  std::string augment;     // see data/augment.h
  std::string resize = "bilinear";
  std::string normalise = "tf";
  std::string bad_files = "stop";
  bool drop_last = false;
  std::int64_t seed = 0;
  std::string freeze;         // patterns of layers, with commas
  std::string lr_for;         // PATTERN=FACTOR, with commas
  double bn_momentum = 0;     // 0: the network's own
  double average = 0;         // decay of the moving average of the weights; 0: none
  std::string class_weights;  // "balanced", or NAME=WEIGHT with commas; empty: all 1
  RunFiles files_in_memory;   // what a run writes, where that is memory

  bool draws_first_batch = true;  // as runs with a directory do

  void add_to(CLI::App& command);
  // Checks everything that needs no data.
  void check(const CLI::App& command);
  // Lists what is validated on: as named, or DATA's own part for it; null: nothing. Nothing is read
  // yet.
  SourcePtr open_validation(const Source& train,
                            const std::function<void(std::int64_t, std::int64_t)>& progress) const;
  // Takes sizes and classes from the data where none were named. UsageError where they contradict.
  void settle_sizes(const Source& source);
  // Lists DATA, reads every picture once, and takes sizes and classes from it where none were
  // named; nothing without DATA. Reading stays well within the budget. DataError that lists what is
  // bad, unless bad files are to be skipped.
  std::optional<TrainingData> load_data(const Budget& budget);
  PipelineSettings pipeline(const nn::Input& input, bool training, int workers) const;
  // For pipelines of training and validation, which take turns.
  std::shared_ptr<PipelineMemory> pipeline_memory(const TrainingData& data, const nn::Input& input,
                                                  int workers) const;
  Tuning tuning() const;
  // What is trained for, on that data if there is any.
  TaskPtr task(const TrainingData* data) const;
  // Weights by class; empty if none were asked for. UsageError for a class the data does not have.
  std::vector<float> weights_of(const Source& source) const;
  // UsageError if a pattern of --freeze or --lr-for matches no layer.
  void check_patterns(const Trainer& trainer) const;

  // Trainers of this network and data. Without data: one batch size, trained and evaluated.
  VariantMaker maker(const TrainingData* data, int threads) const;

 private:
  void note_sources(TrainingData& loaded) const;
  void scan_source(SourcePtr& source, const Budget& budget, TrainingData& loaded) const;
};

// Makes the trainer and its plan, `--batch max` resolved into options.model.batch.
struct Ready {
  Trainer trainer;
  PlannedRun run;
};
Ready make_ready(TrainingOptions& options, const TrainingData* data, const Budget& budget,
                 int threads);

}  // namespace plimsoll::cli
