// Everything `train` can be told.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "job/training_data.h"
#include "job/training_settings.h"
#include "run/run.h"

namespace plimsoll::job {

// In a run directory: the network, where it is not of the zoo.
inline constexpr const char* kNetworkFile = "network.json";
inline constexpr const char* kKernelsFile = "kernels.txt";

struct RunSettings : TrainingSettings {
  // Of these a caller sets epochs, steps, early_stop, save.keep and histograms;
  // check_run_options() and settle() fill in the rest.
  RunOptions run;
  // The schedule's peak, its name and how long it climbs; none: as the network is trained with.
  std::optional<double> lr;
  std::string schedule;
  std::optional<std::int64_t> warmup;
  std::string out;     // run directory; empty: the first free of runs/<model>, runs/<model>2, ...
  std::string resume;  // a run directory: there must be a run in it
  bool fresh = false;  // begin a new run even if one like it was left unfinished
  std::int64_t unfreeze_after = 0;  // epochs after which nothing is frozen; 0: never
  bool scale_lr = false;            // times batch/256
  std::string save_every = "10min";
  std::string watch = "loss";  // layers, off
  std::string on_diverge = "stop";
  std::string on_stall = "warn";
  std::string on_plateau = "warn";
  std::string monitor = "val_loss";  // val_accuracy

  // As asked for, or else the network's own.
  double base_lr() const;
  const std::string& schedule_name() const;
  // What the rate is for, images a step; 0: any number.
  std::int64_t lr_batch() const;
  // Fills `run` from the words. UsageError, DataError for weights that cannot be read.
  void check_run_options();
  // Lengths and rates that depend on the data and the batch that was found.
  void settle(const TrainingData& data, const nn::Input& input);
};

}  // namespace plimsoll::job
