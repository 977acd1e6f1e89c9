// Commands in a control group of exactly the bytes they predict: the kernel as judge.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/program.h"
#include "tests/support/memory_group.h"
#include "tests/support/sanitized.h"

namespace plimsoll {

inline nlohmann::json json_in(const std::string& output) {
  return nlohmann::json::parse(output.substr(std::min(output.find('{'), output.size())));
}

// Runs `words` in a group of `bytes`, which is also its budget. It must end by itself with 0.
inline Outcome run_fitted(const std::string& words, std::int64_t bytes) {
  const MemoryGroup group(bytes);
  const Outcome outcome = run_program(words + " --memory " + std::to_string(bytes), group.enter());
  EXPECT_EQ(outcome.code, 0) << words << " in " << bytes << " bytes: " << outcome.output;
  return outcome;
}

// `report` has predicted_bytes and measured_peak_bytes: what was predicted is enough, and not
// much too much.
// `slack`: what may be predicted beyond what is measured, in MiB.
inline void expect_exact(const nlohmann::json& report, const std::string& what, double slack = 8) {
  if (kSanitized) return;
  const auto predicted = report["predicted_bytes"].get<double>();
  const auto measured = report["measured_peak_bytes"].get<double>();
  EXPECT_GE(predicted, measured) << what;
  EXPECT_LE(predicted - measured, std::max(slack * (1 << 20), 0.01 * measured)) << what;
}

}  // namespace plimsoll
