// The pictures of a run, in its directory: curves.svg, memory.svg, train_batch0.png, val_batch0.png
// of a detector, and what the task draws.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "base/stopwatch.h"
#include "draw/training_pictures.h"
#include "run/recorder.h"

namespace plimsoll {

class RunPictures {
 public:
  RunPictures(const RunOptions& options, const Task& task, Recorder& recorder);

  // By the monitor: what is resident now.
  void note_memory();
  // Draws all but the first batch; not more often than every ten seconds unless it is the end.
  void draw(const Tally& tally, bool at_end);
  // The sheet of the first batch, also to its file.
  std::string draw_batch(const Batch& batch, std::int64_t height, std::int64_t width,
                         std::int64_t channels);
  // val_batch0.png, of a task with boxes: what is in the first batch of validation beside what was
  // found in it. For every batch after its step; others are passed over, and so is the first where
  // it was drawn less than ten seconds ago, unless it is the last time.
  void draw_validation(const StepTensors& results, const Batch& batch, bool is_last);

 private:
  const RunOptions& options_;
  const Task& task_;
  Recorder& recorder_;
  std::mutex mutex_;
  std::vector<draw::MemorySample> memory_;
  std::int64_t seconds_between_ = 1;  // samples; doubles when there are many
  std::int64_t seconds_ = 0;
  std::optional<Stopwatch> drawn_;
  std::optional<Stopwatch> validation_drawn_;
};

}  // namespace plimsoll
