// A run from its settings to its end, with its stages of freezing, in one process.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "job/ready.h"
#include "job/run_folder.h"
#include "job/run_settings.h"
#include "run/run.h"

namespace plimsoll::job {

// What a caller may want to hear of. Each may be empty.
struct TrainingHooks {
  OnScan on_scan;
  // A picture that could not be read any more is left out. From a thread that reads data.
  std::function<void(const Complaint&)> on_left_out;
  // In words, what keeps threads from the processors; see RunOptions::crowding.
  std::function<std::string()> crowding;
};

class Training {
 public:
  // Reads all data once, plans every stage, opens the run directory (a new one, or one whose run
  // goes on) and writes into it what the run is. UsageError, DataError; BudgetError if a stage does
  // not fit: then nothing was started. `threads`: the size of the OpenMP team.
  Training(RunSettings settings, const Budget& budget, int threads, TrainingHooks hooks = {});

  // With what was worked out: sizes, batch, the run directory.
  const RunSettings& settings() const { return s_; }
  const TrainingData& data() const { return data_; }
  // Of the stage that is trained, or comes next.
  const Ready& ready() const { return *ready_; }
  // Where the checkpoint stands that the run goes on from; null: it begins.
  const RunState* resumed() const;
  // The run that was found has done all that is asked for.
  bool is_complete() const;

  // Maps the arena and puts the weights into it. Once, before train(), unless is_complete().
  void open(RunObserver& observer);
  // To the end, or until `interrupt` is set.
  RunReport train(RunObserver& observer, const std::atomic<int>& interrupt);

 private:
  bool thaws() const { return !s_.freeze.empty() && s_.unfreeze_after > 0; }
  Ready make_stage(bool frozen);
  void describe();
  void open_stage(RunObserver& observer);
  RunReport train_stage(RunObserver& observer, const std::atomic<int>& interrupt);
  void load(Trainer& trainer);

  RunSettings s_;
  Budget budget_;
  int threads_;
  TrainingHooks hooks_;
  TrainingData data_;
  Beside beside_;
  std::optional<RunFolder> folder_;
  RunState from_;
  std::optional<Ready> ready_;
  std::vector<std::string> news_;  // for the log, once there is one
};

}  // namespace plimsoll::job
