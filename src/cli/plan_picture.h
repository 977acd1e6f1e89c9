// Live bytes over a step, drawn.
#pragma once

#include <cstdint>
#include <string>

#include "plan/usage.h"

namespace plimsoll::cli {

struct PlanPicture {
  std::string title;
  std::int64_t resident_bytes = 0;  // weights and state: there all the time
  std::int64_t beside_bytes = 0;    // of the process, outside the arena
  std::int64_t total_bytes = 0;
  std::int64_t budget_bytes = 0;  // kUnlimited: no line
};

// An SVG that explains itself: areas by use over the instructions of one step, a line where
// backward begins, the budget as a line, the fullest step marked.
std::string plan_svg(const Usage& usage, const PlanPicture& picture);

}  // namespace plimsoll::cli
