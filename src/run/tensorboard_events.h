// What a run tells TensorBoard: train/ and validation/ in its directory, with Keras's tags.
#pragma once

#include <optional>
#include <string>

#include "format/event_file.h"
#include "run/run_event.h"
#include "run/run_options.h"

namespace plimsoll {

class TensorboardEvents {
 public:
  // `resumed_at`: TensorBoard forgets what earlier parts of the run wrote from this step on.
  TensorboardEvents(const RunOptions& options, const Task& task, std::int64_t resumed_at);

  void step(const Progress& progress, double loss);
  void epoch(const Progress& train, const std::optional<Evaluation>& validation);
  // Of some of each tensor's values.
  void histograms(const Trainer& trainer, std::int64_t step);
  // `png`: the first batch.
  void first_batch(std::string_view png);
  void flush();
  // Empty as long as nothing was lost.
  const std::string& failure() const;

 private:
  const Task& task_;
  std::optional<EventFile> train_;  // of the rank that leads
  std::optional<EventFile> validation_;
};

}  // namespace plimsoll
