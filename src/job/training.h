// A run from its settings to its end, with its stages of freezing, in one process or as one of
// several ranks.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

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
  // A run that makes no progress cannot speak for itself; see RunOptions::stalled.
  std::function<void(const std::string& text, bool ends)> stalled;
};

class Training {
 public:
  // Reads all data once, plans every stage, opens the run directory (a new one, or one whose run
  // goes on) and writes into it what the run is. UsageError, DataError; BudgetError if a stage does
  // not fit: then nothing was started. The settings have been checked; `threads`: the size of the
  // OpenMP team.
  Training(RunSettings settings, const Budget& budget, int threads, TrainingHooks hooks = {});
  Training(const Training&) = delete;
  Training& operator=(const Training&) = delete;
  ~Training();

  // With what was worked out: sizes, batch, the run directory.
  const RunSettings& settings() const { return s_; }
  const TrainingData& data() const { return data_; }
  // What it trains for, in all stages.
  const Task& task() const { return *task_; }
  // Of the stage that is trained, or comes next.
  const Ready& ready() const { return *ready_; }
  // Where the checkpoint stands that the run goes on from; null: it begins.
  const RunState* resumed() const;
  // The run that was found has done all that is asked for.
  bool is_complete() const;

  // What happens next, of all stages; nothing after Finished. The first call maps the arena and
  // puts the weights into it. See Run::next(). Not to be called when is_complete().
  std::optional<RunEvent> next();
  // Instead of the next step a checkpoint is written, and the run finishes.
  void stop();

 private:
  // Finds what to go on from, by the rank that leads, and tells the others.
  void open_folder();
  // What is the same on all ranks, or else refused.
  void compare_ranks();
  bool thaws() const { return !s_.freeze.empty() && s_.unfreeze_after > 0; }
  // By all ranks. BudgetError if it does not fit one of them.
  Ready make_stage(bool frozen);
  // That parts are small for statistics of their own, where they are.
  std::string small_parts_text() const;
  // What is frozen behind --unfreeze-after.
  std::string thawing_text() const;
  void describe();
  void open_stage();
  void open_next_stage();
  void log_news();
  void load(Trainer& trainer);
  void load_here(Trainer& trainer);

  RunSettings s_;
  Budget budget_;
  int threads_;
  TrainingHooks hooks_;
  TrainingData data_;
  TaskPtr task_;
  Beside beside_;
  std::optional<RunFolder> folder_;  // of the rank that leads
  std::optional<RunState> resumed_;  // where the checkpoint stands
  RunState from_;
  std::int64_t thawed_bytes_ = 0;  // the plan's, once what is frozen thaws
  std::optional<Ready> ready_;
  std::deque<std::string> news_;  // to be told before what happens next
  // What trains: its data and its loop.
  struct Stage;
  std::unique_ptr<Stage> stage_;
  bool is_finished_ = false;
};

}  // namespace plimsoll::job
