// Progress lines: redrawn in place on a terminal, a plain line now and then elsewhere.
#pragma once

#include <chrono>
#include <mutex>
#include <string>

#include "run/run_event.h"
#include "task/task.h"

namespace plimsoll::cli {

// "4m10s", "1h02m", "12s".
std::string duration_text(double seconds);

// A bar for a phase before or beside the training; always on standard error.
class PhaseBar {
 public:
  PhaseBar(std::string what, bool quiet);
  PhaseBar(const PhaseBar&) = delete;
  PhaseBar& operator=(const PhaseBar&) = delete;
  ~PhaseBar();

  void show(std::int64_t done, std::int64_t total, double seconds, const std::string& more);

 private:
  std::string what_;
  bool quiet_;
  bool terminal_;
  bool drawn_ = false;
  double last_ = 0;
};

// "87.25 %", "0.1234".
std::string value_text(const Metric& metric, double value);

// A run as it goes. Messages may come from a second thread.
class ProgressPrinter {
 public:
  // `quiet` prints only the lines that end an epoch and messages; those go to standard error. The
  // task must outlive it.
  ProgressPrinter(bool quiet, std::int64_t budget_bytes, const Task& task);

  void show(const RunEvent& event);
  void message(const std::string& text);

 private:
  void show_progress(const Progress& progress);
  void show_epoch(const EpochDone& epoch);
  void clear_line();
  std::string line_of(const Progress& progress) const;

  bool quiet_;
  std::int64_t budget_bytes_;
  const Metric& metric_;  // of training
  std::size_t headline_;
  const Metric& validated_;
  bool terminal_;
  bool line_open_ = false;
  std::mutex mutex_;  // messages may come from a second thread
  std::chrono::steady_clock::time_point last_;
};

}  // namespace plimsoll::cli
