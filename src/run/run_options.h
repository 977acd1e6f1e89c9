// What a run is asked to do.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "dist/rank_place.h"
#include "run/checkpoint.h"
#include "run/rate_schedule.h"
#include "run/saver.h"
#include "run/watchdog.h"
#include "step/ledger.h"

namespace plimsoll {

struct RunOptions {
  std::string model;  // for the records
  std::string data;
  std::int64_t epochs = 1;
  std::int64_t pause_after = 0;  // epochs; the run goes on in another stage; 0: no pause
  std::int64_t steps = 0;        // stop after this many; 0: no limit
  std::int64_t batch = 32;
  bool drop_last = false;  // leave out the partial last batch of an epoch
  double lr = 0.01;        // the schedule's peak
  ScheduleOptions schedule;
  // Which of the task's numbers says that an epoch was better; nothing: the loss.
  std::optional<std::size_t> monitor;
  std::int64_t early_stop = 0;  // epochs without a better one; 0: never
  SaveOptions save;
  WatchdogOptions watchdog;
  bool histograms = false;    // of the weights, for TensorBoard
  std::filesystem::path out;  // run directory; exists
  RunIdentity identity;
  // Of several ranks, which outlives the run: all of them run the same, and rank 0 alone writes.
  dist::Group* group = nullptr;
  int threads = 1;            // of this rank, for the records
  double rank_timeout = 600;  // seconds of silence after which a rank is lost, and the run with it
  std::int64_t budget_bytes = kUnlimited.count;
  std::int64_t predicted_bytes = 0;
  Ledger ledger;
  // In words, what keeps the process's threads from the processors; empty: nothing. Called from the
  // thread of the run and from the one beside it.
  std::function<std::string()> crowding = [] { return std::string(); };
  // Called by the thread beside the run when the run itself cannot speak: it has made no progress
  // for long. `ends`: the watchdog was asked to stop such a run, which only the end of the process
  // can; the last checkpoint stands.
  std::function<void(const std::string& text, bool ends)> stalled = [](const std::string&, bool) {};

  // Whether this rank writes and speaks.
  bool leads() const { return dist::leads(group); }
  // Of so many, those an epoch trains on.
  std::int64_t samples_per_epoch(std::int64_t train_samples) const;
  // Of a run that is not stopped early.
  std::int64_t steps_in_all(std::int64_t steps_per_epoch) const;
  // Of what is predicted, what the process itself holds: files that are memory are in its
  // container's count already.
  std::int64_t resident_bytes() const;
};

}  // namespace plimsoll
