// Everything `train` can be told, and what of it makes a run the run it is.
#pragma once

#include <string>

#include "cli/training_options.h"
#include "run/run.h"

namespace plimsoll::cli {

struct RunSettings : TrainingOptions {
  RunOptions run;
  std::string out;
  std::string resume;   // a run directory; its args.toml has been put before the other words
  bool fresh = false;   // begin a new run even if one like it was left unfinished
  std::string weights;  // to begin with
  std::int64_t unfreeze_after = 0;
  bool scale_lr = false;
  std::string save_every = "10min";
  std::string watch = "loss";
  std::string on_diverge = "stop";
  std::string on_stall = "warn";
  std::string on_plateau = "warn";
  std::string monitor = "val_loss";

  void add_run_options(CLI::App& command);
  // Fills `run` from the words. UsageError.
  void check_run_options();
  // Lengths and rates that depend on the data and the batch that was found.
  void settle(const TrainingData& data, const nn::Input& input);
  RunIdentity identity(const TrainingData& data, const nn::Input& input) const;
  // What the run directory will hold at the most.
  RunFiles files(const TrainingData& data, const nn::Input& input) const;
};

// The text of args.toml: every long option of the command that has a value, with those that were
// worked out in place of what was asked for.
std::string args_text(const CLI::App& command, const RunSettings& settings, const nn::Input& input,
                      int threads);

}  // namespace plimsoll::cli
