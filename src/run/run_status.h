// Runs on this machine, as their directories and the kernel tell of them. Reading only: nothing
// here writes, and no lock is taken.
//
// A run keeps RUN/status.json up to date (replaced by rename, so it is always whole) and holds a
// lock on RUN/run.lock, which contains its pid, as long as it lives.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "step/ledger.h"

namespace plimsoll {

// One rank of a run, as rank 0 hears of it once a second.
struct RankStatus {
  std::string host;
  std::string doing;  // "training", "training, reading photos/a.jpg"
  std::int64_t step = 0;
  Bytes resident;
  // Of its last step: all of it, and waiting for data and for other ranks.
  double step_seconds = 0, data_seconds = 0, others_seconds = 0;
  double silent_seconds = 0;  // since it was heard of
};
nlohmann::ordered_json to_json(const RankStatus& rank);

// RUN/status.json. What is null or missing there is nothing here; only pid and state must be.
struct RunStatus {
  std::int64_t pid = 0;
  std::string state;  // starting, training, validating, saving, planning, done, stopped
  std::string model, data, stopped_by;
  std::optional<std::int64_t> epoch, epochs, step, steps;
  std::optional<double> loss, accuracy, val_accuracy, lr;
  std::optional<double> images_per_second, data_wait_percent, eta_seconds;
  std::optional<Bytes> budget, predicted, resident, peak;
  std::vector<LedgerLine> ledger;
  std::vector<RankStatus> ranks;           // none: one process
  std::optional<double> started, updated;  // seconds since 1970
  nlohmann::ordered_json json;             // all of it
};

// DataError, with `where` as its place, if it is not JSON or a key has a wrong type.
RunStatus parse_run_status(const std::string& text, const std::string& where);

enum class RunCondition {
  running,     // its lock is held
  ended,       // it said so
  crashed,     // its lock is free, and it did not say that it ended
  unreadable,  // there is no status that can be read
};
std::string_view to_string(RunCondition condition);

struct SeenRun {
  std::filesystem::path folder;
  RunCondition condition = RunCondition::unreadable;
  std::optional<RunStatus> status;    // always there unless unreadable
  std::string problem;                // of an unreadable one
  std::optional<Bytes> resident_now;  // by the kernel, of a running one
};

// DataError if there is no status to read.
SeenRun look_at_run(const std::filesystem::path& folder);

// Those of this user's processes that hold a run.lock, then those under ./runs that told something
// in the last day; each once, by name. Never throws for what one of them holds.
std::vector<SeenRun> find_runs();

}  // namespace plimsoll
