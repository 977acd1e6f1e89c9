// What a run leaves for people and programs: results.csv, log.txt, status.json, report.json.
// Nothing here stops a run: a file that cannot be written is told of once and tried again.
#pragma once

#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/stopwatch.h"
#include "run/run_event.h"
#include "run/run_options.h"
#include "run/run_state.h"
#include "run/run_status.h"

namespace plimsoll {

// One line of results.csv.
struct ResultsRow {
  std::int64_t epoch = 0, step = 0;
  double time = 0;  // seconds of training, those before a resume included
  double loss = 0;
  MetricValues metrics = {};
  std::optional<Evaluation> validation;
  double lr = 0;
  double images_per_second = 0, data_wait_percent = 0;
  Bytes memory;
};

// Its columns are named by the task: "accuracy" and "val_accuracy" for every metric of training.
std::string results_csv(const Task& task, const std::vector<ResultsRow>& rows);
// DataError with the line that is none of ours.
std::vector<ResultsRow> parse_results(const Task& task, const std::string& text,
                                      const std::string& where);

std::string report_json(const Task& task, const RunReport& report);

// log(), message(), seconds(), attempt(), note_ranks() and write_status() may be called from the
// run's thread and from its monitor's, the rest is for the run's.
class Recorder {
 public:
  using Tell = std::function<void(const std::string& text)>;
  // Goes on with the results that are there, up to the epochs that `from` has complete. `tell` is
  // called for messages, by whichever thread has them.
  Recorder(const RunOptions& options, const Task& task, const RunState& from, Tell tell);

  // To log.txt, with the date.
  void log(const std::string& text);
  // And to those who are told.
  void message(const std::string& text);
  void add(const ResultsRow& row);
  // Drops the rows of epochs after `epochs`.
  void go_back(std::int64_t epochs);
  const std::vector<ResultsRow>& rows() const { return rows_; }
  // Seconds of training in all.
  double seconds() const;

  // What status.json tells; written by write_status().
  void note(const Progress& progress, const RunState& state);
  // Those of a run with several; from any thread.
  void note_ranks(std::vector<RankStatus> ranks);
  // `state` is what the run is at; once there is a report, its end is what is written.
  void write_status(std::string_view state);
  // Also the last status. A run that only pauses has neither.
  void write_report(const RunReport& report);

  // Calls `write` and tells of what it throws, once per file. By the rank that leads; others write
  // nothing.
  void attempt(const char* file, const std::function<void()>& write);

 private:
  std::string status_json(std::string_view state) const;

  const RunOptions& options_;
  const Task& task_;
  Tell tell_;
  std::vector<ResultsRow> rows_;
  double seconds_before_ = 0;
  std::mutex status_file_;    // held while it is written; taken before mutex_
  mutable std::mutex mutex_;  // for all below, and for writing the two above
  Stopwatch watch_;
  std::vector<std::string> failing_;  // files that could not be written the last time
  Progress progress_;
  RunState state_;
  std::optional<Evaluation> validation_;
  std::int64_t steps_ = 0;
  std::vector<RankStatus> ranks_;
  std::optional<StopReason> stopped_by_;  // nothing: it runs
};

}  // namespace plimsoll
