// What a run leaves in its directory for people and programs: results.csv and report.json.
#pragma once

#include <filesystem>
#include <fstream>
#include <optional>

#include "base/bytes.h"
#include "train/run.h"

namespace plimsoll {

struct ResultsRow {
  std::int64_t epoch = 0, step = 0;
  double time = 0;  // seconds since the run began
  Progress train;
  std::optional<Progress> validation;
  double lr = 0;
  Bytes memory;
};

// results.csv: a header, then a line per epoch, on disk as soon as it is known. Throws DataError.
class ResultsFile {
 public:
  explicit ResultsFile(const std::filesystem::path& path);
  void append(const ResultsRow& row);

 private:
  void check() const;
  std::filesystem::path path_;
  std::ofstream file_;
};

std::string report_json(const RunReport& report);
void write_report(const std::filesystem::path& path, const RunReport& report);

}  // namespace plimsoll
