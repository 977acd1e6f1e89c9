// Where a run stands: everything but the tensors that a resume needs to go on as if never stopped.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "format/safetensors.h"

namespace plimsoll {

struct RunState {
  std::int64_t step = 0;             // updates done
  std::int64_t epoch = 0;            // epochs complete, validation included
  std::int64_t position = 0;         // samples of the next epoch that are done
  std::int64_t samples = 0;          // trained in all
  std::int64_t optimizer_steps = 0;  // that the optimizer had done before this run

  // Of the epoch under way.
  std::int64_t counted = 0;
  double loss_sum = 0;
  std::map<std::string, double> metric_sums;  // by Metric::sum

  // What validation has shown. Best: of the monitored value, smaller is better.
  std::optional<double> best;
  std::int64_t best_epoch = 0;
  std::int64_t stale_epochs = 0;  // since the best
  double lr_scale = 1;            // by plateau and rollback
  std::optional<double> plateau_best;
  std::int64_t plateau_epochs = 0;  // since it moved
  std::int64_t rollbacks = 0;

  // What the watchdog compares with.
  std::optional<double> first_loss, smooth_loss, best_loss;
  std::int64_t best_loss_step = 0;
  std::int64_t high_steps = 0;  // in a row with a loss far above

  bool operator==(const RunState&) const = default;
};

// As metadata of a checkpoint: exact, and the same text for the same state. Sums of metrics stand
// under their own names beside the rest; read_state() takes every number without a prefix that it
// does not know for such a sum.
void put(const RunState& state, Metadata& metadata);
// DataError, with `where`, if an entry is missing or malformed.
RunState read_state(const Metadata& metadata, const std::string& where);

}  // namespace plimsoll
