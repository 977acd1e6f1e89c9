// A plan in words and numbers, for people.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "job/levers.h"
#include "job/training_settings.h"

namespace plimsoll::cli {

std::string budget_size_text(const job::Budget& budget);  // "1.50 GiB" or "unlimited"
std::string budget_text(const job::Budget& budget);       // "budget 1.50 GiB (--memory)"
// The ledger as a table with its total.
std::string ledger_text(const job::PlannedRun& run);
// job::Budget, ledger and what the plan comes to, for programs.
nlohmann::ordered_json plan_summary_json(const job::PlannedRun& run);
// "kept 60 tensors (900 MiB), recomputed 93 (1.2 GiB), 2.1 % slower than without a limit".
std::string means_text(const Trainer& trainer, const job::PlannedRun& run);
// A line for every means that changes the numbers; empty without them.
std::string lossy_text(const job::TrainingSettings& settings);
// "memory: 120 MiB predicted, 118 MiB measured": the process's own high-water mark so far.
std::string memory_text(std::int64_t predicted_bytes);
// The same two as `predicted_bytes` and `measured_peak_bytes`.
void add_memory(nlohmann::ordered_json& json, std::int64_t predicted_bytes);
// What the fullest step holds.
std::string peak_text(const Trainer& trainer, const job::PlannedRun& run);

}  // namespace plimsoll::cli
