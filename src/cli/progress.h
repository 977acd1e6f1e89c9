// Progress lines: redrawn in place on a terminal, a plain line now and then elsewhere.
#pragma once

#include <chrono>
#include <string>

#include "train/run.h"

namespace plimsoll::cli {

// "4m10s", "1h02m", "12s".
std::string duration_text(double seconds);

class ProgressPrinter final : public RunObserver {
 public:
  // `quiet` prints only the lines that end an epoch.
  explicit ProgressPrinter(bool quiet);

  void on_progress(const Progress& progress) override;
  void on_epoch_end(const Progress& train, const std::optional<Progress>& validation) override;
  void on_saved(const std::filesystem::path& checkpoint) override;

 private:
  void clear_line();

  bool quiet_;
  bool terminal_;
  bool line_open_ = false;
  std::chrono::steady_clock::time_point last_;
};

}  // namespace plimsoll::cli
