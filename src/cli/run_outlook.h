// What data means for a run of a network: what it would take, and how fast data comes.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "job/ready.h"
#include "job/scanned_data.h"
#include "machine/machine.h"

namespace plimsoll::cli {

struct RunOutlook {
  std::string model;
  nn::Input input;
  // What `train` would do, or why it would not begin; neither of boxes that the network cannot
  // find.
  std::optional<job::PlannedRun> run;
  std::string why_not;
  std::vector<job::AnchorCoverage> coverage = {};  // of a detector
  double delivered = 0;                            // images/s that one core reads and decodes
  double most = 0;  // images/s that training could take if every core ran at its peak
};

// Of a network on data that was read; without a plan yet.
RunOutlook find_outlook(const job::TrainingSettings& settings, const job::ScannedData& data);

// Adds a remark where reading is slower than training could be.
void judge(const RunOutlook& outlook, const job::ScannedData& data, const Machine& machine,
           std::vector<Remark>& remarks);

// Plans the run; what would keep `train` from beginning goes to `remarks`.
void plan_run(job::TrainingSettings& settings, const job::ScannedData& train,
              const std::optional<job::ScannedData>& validation, const job::Budget& budget,
              int threads, RunOutlook& outlook, std::vector<Remark>& remarks);

void print_text(const RunOutlook& outlook);
nlohmann::ordered_json run_json(const RunOutlook& outlook);
nlohmann::ordered_json plan_json(const RunOutlook& outlook);

}  // namespace plimsoll::cli
