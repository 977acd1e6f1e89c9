// Weights that were trained, with the network they are for: what `eval` and `predict` begin with.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "data/data.h"
#include "interop/imported_file.h"
#include "job/box_settings.h"
#include "job/memory_settings.h"
#include "job/model_settings.h"
#include "step/trainer.h"
#include "task/make_task.h"

namespace plimsoll::job {

struct TrainedModel {
  std::filesystem::path weights;
  ModelSettings model;
  std::shared_ptr<const interop::ImportedFile> file = {};  // the weights, open
  std::vector<std::string> class_names;  // may be empty: weights of another program
  std::string resize = "bilinear";
  std::string normalise = "tf";
  LossOptions loss;  // that it was trained with
  TargetKind targets = TargetKind::label;
  BoxSettings boxes;          // of a detector
  bool uses_average = false;  // of weights, as they were evaluated in training

  // Overrules what the file says of itself, unless the text is empty. UsageError.
  void prepare_pictures(const std::string& mode);
  // What it was trained for; `names` of its classes.
  TaskPtr task(const std::vector<std::string>& names) const;
  PipelineSettings pipeline(int threads) const;
  Normalisation normalisation() const;
};

// How wide the head of these weights is, which are of that network; 0: they do not tell.
std::int64_t classes_of(const interop::ImportedFile& file, const ModelSettings& model);

// What `path` names: a run directory (its best weights, or else its last ones) or a file of weights
// of any kind that we read. What was asked for (an empty model and image, 0 channels and classes
// ask for nothing) wins over what the file says about itself. DataError, UsageError.
TrainedModel find_trained(const std::string& path, const ModelSettings& asked);

// A trainer for evaluation only, open, with the weights in it, and what fits beside it.
struct OpenedModel {
  Trainer trainer;
  int workers = 1;  // that read pictures
  std::int64_t predicted_bytes = 0;
};

// A trainer for one batch size, open, with the weights in it: for those who look at them.
Trainer open_alone(const TrainedModel& trained);

// Data workers are left out, and then the batch is halved, until it fits the budget. BudgetError if
// not even one image does. `names` are those of the classes; `beside`: what the caller will hold.
OpenedModel open_trained(TrainedModel& trained, const SourcePtr& source,
                         const std::vector<std::string>& names, const LargestImage& largest,
                         const Budget& budget, int threads, Bytes beside = {0});

}  // namespace plimsoll::job
