// What a run may hold, and by what means it may fit.
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.h"
#include "data/data.h"
#include "plan/plan.h"

namespace plimsoll::job {

struct MemorySettings {
  std::string memory;         // "2GiB", "unlimited"; empty: what container and machine leave
  std::string stash = "f32";  // or f16
  std::string spill;          // directory; empty: no spilling
  std::int64_t accumulate = 1;
  std::string bn = "local";  // statistics of each part of a batch; or sync: of all of it
  // Ranks share out what the optimizer remembers; not among a run's words, as they are not.
  bool shard_optimizer = false;

  // Checks all of them, for images in f32 or bf16; UsageError, DataError for a spill directory that
  // cannot be used.
  void check(bool images_are_short) const;
  // Whether BatchNorms take the statistics of several parts, which then run at once.
  bool syncs() const { return bn == "sync" && accumulate > 1; }
  Means means() const { return {.half = stash == "f16", .spill = !spill.empty()}; }
};

inline constexpr std::int64_t kMostMicroBatches = 1024;

struct Budget {
  std::int64_t bytes = 0;
  std::string bound_by;  // "--memory" or what limits the process
  std::string warning;   // for people: more was asked for than there is; empty: nothing
};

// The budget that was asked for or found.
Budget find_budget(const MemorySettings& settings);

// What a scan before a run may hold to read and decode: the budget less what the process has.
Bytes left_to_scan(const Budget& budget);
// BudgetError that names the pictures which could not be decoded within that, if there are any.
void check_fits(const ScanReport& report, const Budget& budget);

}  // namespace plimsoll::job
