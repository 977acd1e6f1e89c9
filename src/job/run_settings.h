// Everything `train` can be told.
#pragma once

#include <cstdint>
#include <string>

#include "job/training_data.h"
#include "job/training_settings.h"
#include "run/run.h"

namespace plimsoll::job {

// In a run directory: the network, where it is not of the zoo.
inline constexpr const char* kNetworkFile = "network.json";
inline constexpr const char* kKernelsFile = "kernels.txt";

struct RunSettings : TrainingSettings {
  // Of these a caller sets epochs, steps, schedule, early_stop, save.keep and histograms;
  // check_run_options() and settle() fill in the rest.
  RunOptions run;
  double lr = 0.01;    // the schedule's peak
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

  // Fills `run` from the words. UsageError, DataError for weights that cannot be read.
  void check_run_options();
  // Lengths and rates that depend on the data and the batch that was found.
  void settle(const TrainingData& data, const nn::Input& input);
};

}  // namespace plimsoll::job
