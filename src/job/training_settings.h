// What `plan`, `check`, `find-lr` and `train` have in common: the same settings make the same
// trainer and the same plan.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/data.h"
#include "job/box_settings.h"
#include "job/data_settings.h"
#include "job/memory_settings.h"
#include "job/model_settings.h"
#include "step/ledger.h"
#include "step/optimizer.h"
#include "step/trainer.h"
#include "task/make_task.h"

namespace plimsoll::job {

struct TrainingSettings {
  ModelSettings model;
  MemorySettings memory;
  dist::RankPlace place;  // of several ranks; not among a run's words
  DataSettings reading;
  BoxSettings boxes;
  OptimizerOptions optimizer{.name = {}};  // empty: the network's own; and but for its momentum:
  std::optional<double> momentum;  // none: 0 for rmsprop, as in Keras, else OptimizerOptions's own
  LossOptions loss;
  double l2 = 0;                        // times the sum of squared weights, added to the loss
  std::optional<std::int64_t> threads;  // see use_threads()
  std::string kernels;                  // file of a KernelTable; empty: by the ops' own order
  std::string data;
  std::string validation;  // data of its own
  double val_split = 0;    // or a share of the training data
  std::string augment;     // see data/picture/augment.h; empty: the network's own
  std::string resize = "bilinear";
  std::string normalise;  // empty: as the weights it begins with want, or else tf
  std::string weights;    // file to begin with, see job/begin_weights.h
  bool weights_by_name = false;
  std::string bad_files = "stop";  // or skip
  bool drop_last = false;          // leave out the partial last batch
  std::int64_t seed = 0;
  std::string freeze;         // patterns of layers, with commas; "body": all but the head; "bn"
  std::string thawed;         // patterns of those that were frozen in the stage before
  double thaw_lr = 0.02;      // rate of thawed layers, times the rate
  bool thaw_bn = false;       // BatchNorms thaw too, and use the batch's statistics again
  std::string lr_for;         // PATTERN=FACTOR, with commas
  double bn_momentum = 0;     // 0: the network's own
  double average = 0;         // decay of the moving average of the weights; 0: none
  std::string class_weights;  // "balanced", or NAME=WEIGHT with commas; empty: all 1

  // Checks everything that needs no data. UsageError names the option.
  void check() const;
  // Fills in what --normalise leaves to the weights or the network. DataError for weights that
  // cannot be read.
  void settle_normalise();
  OptimizerOptions optimizer_options() const;
  // As asked for, or else as the network is trained with.
  const std::string& augmentation() const;
  // What is trained for, on that data if there is any.
  TaskPtr task(const Source* source) const;
  Tuning tuning() const;
  // Reads `kernels`, if there is such a file. DataError.
  KernelChoice kernel_choice() const;
  // UsageError for ranks, once it is known how many they are, that have nothing to share out.
  void check_sharding() const;
  // Whether the optimizer remembers anything that ranks could share out.
  bool remembers() const;
  // A detector that begins with weights keeps its BatchNorms as they are, as torchvision's do: its
  // batches are too small to tell statistics by.
  bool keeps_statistics() const;
  // What the rate is multiplied by for a body that begins with weights.
  double body_rate() const;
  // BatchNorms that were frozen in the stage before and stay so: by batches as small as those of a
  // fine-tuning, statistics would be other ones than the weights were trained with.
  std::vector<std::string> norms_left_frozen() const;
  PipelineSettings pipeline(const nn::Input& input, bool training, int workers) const;
  Normalisation normalisation() const;
  // Weights by class; empty if none were asked for. UsageError for a class the data does not have.
  std::vector<float> weights_of(const Source& source) const;
  // UsageError if a pattern of --freeze or --lr-for matches no layer.
  void check_patterns(const Trainer& trainer) const;
};

// UsageError "option: got; expected ..." unless `good`.
void require(bool good, const char* option, const std::string& got, const std::string& expected);

}  // namespace plimsoll::job
