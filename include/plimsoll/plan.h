// What a run needs, before it starts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <plimsoll/settings.h>

namespace plimsoll::v1 {

struct LedgerLine {
  std::string name;
  std::int64_t bytes = 0;
};

// What one change would do: the same run with that option has a plan of so many bytes.
struct Lever {
  std::string option;  // "--batch 12"
  std::int64_t bytes = 0;
  std::string note;
};

// All bytes are of the whole process.
struct Plan {
  bool fits = false;  // otherwise what follows is about the smallest plan
  std::int64_t batch = 0;
  std::int64_t budget_bytes = 0;     // the largest 64-bit number: unlimited
  std::int64_t total_bytes = 0;      // predicted
  std::int64_t floor_bytes = 0;      // the smallest budget that fits
  std::int64_t unlimited_bytes = 0;  // of the fastest plan
  double slowdown_percent = 0;       // against that one, predicted
  std::vector<LedgerLine> ledger;    // what the total is made of
  std::vector<Lever> levers;         // where it does not fit
};

// Reads all data once, and plans. UsageError, DataError. Uses the OpenMP team as it is.
Plan make_plan(const Settings& settings);

}  // namespace plimsoll::v1
