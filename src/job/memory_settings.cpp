#include "job/memory_settings.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/file_system.h"
#include "base/limits.h"
#include "base/memory_usage.h"
#include "exec/spill.h"

namespace plimsoll::job {

void MemorySettings::check(bool images_are_short) const {
  if (stash != "f32" && stash != "f16")
    throw UsageError(
        {.where = "--stash", .got = "'" + stash + "'", .expected = "expected f32 or f16"});
  if (stash == "f16" && images_are_short)
    throw UsageError({.where = "--stash",
                      .got = "f16 with --precision bf16",
                      .expected = "expected f32: what is kept has 16 bits already"});
  if (accumulate < 1 || accumulate > kMostMicroBatches)
    throw UsageError({.where = "--accumulate",
                      .got = std::to_string(accumulate),
                      .expected = fmt::format("expected 1 to {}", kMostMicroBatches)});
  if (bn != "local" && bn != "sync")
    throw UsageError(
        {.where = "--bn", .got = "'" + bn + "'", .expected = "expected local or sync"});
  if (spill.empty()) return;
  if (syncs())
    throw UsageError({.where = "--spill",
                      .got = "with --bn sync, whose parts are all computed at once",
                      .expected = "expected one of the two",
                      .hint = "more --ranks have fewer parts each; --bn local spills"});
  const SpillFile usable(spill, 0);
  if (const std::string name = memory_file_system(spill); !name.empty())
    throw DataError({.where = "--spill " + spill,
                     .got = "it is on " + name + ", whose files are memory",
                     .expected = "expected a directory on a disk",
                     .hint = "what is spilled there would count against the same budget"});
}

Budget find_budget(const MemorySettings& settings) {
  const MemoryLimit limit = tightest_limit(memory_limits());
  if (settings.memory.empty()) return {.bytes = limit.left.count, .bound_by = limit.named};
  const Bytes asked = parse_bytes(settings.memory, "--memory");
  // A group's counters lag, and hold some pages of the kernel for us.
  constexpr Bytes kNoise = 2_MiB;
  Budget budget{.bytes = asked.count, .bound_by = "--memory"};
  if (asked != kUnlimited && asked > limit.left + kNoise)
    budget.warning = fmt::format("--memory {}: more than the {} that {} leaves", settings.memory,
                                 to_string(limit.left), limit.named);
  return budget;
}

Bytes left_to_scan(const Budget& budget) {
  if (budget.bytes == kUnlimited.count) return kUnlimited;
  // Threads and their heaps, lists of findings.
  constexpr Bytes kBeside = 4_MiB;
  release_free_memory();
  const Bytes held = kUsageIsOwn ? memory_usage().now() : Bytes{0};
  return std::max(Bytes{0}, Bytes{budget.bytes} - held - kBeside);
}

void check_fits(const ScanReport& report, const Budget& budget) {
  std::string files;
  std::size_t count = 0;
  constexpr std::size_t kShown = 10;
  for (const BadSample& sample : report.bad)
    if (sample.does_not_fit && ++count <= kShown)
      files += "\n  " + sample.complaint.where + ": " + sample.complaint.got;
  if (count == 0) return;
  if (count > kShown) files += fmt::format("\n  and {} more", count - kShown);
  throw BudgetError(
      {.where = fmt::format("budget {} ({})", to_string(Bytes{budget.bytes}), budget.bound_by),
       .got =
           fmt::format("{} too large to be decoded in it:{}",
                       count == 1 ? "1 picture is" : fmt::format("{} pictures are", count), files),
       .expected = "expected pictures that fit; nothing was started",
       .hint = "make them smaller once (a short side of 320 to 400 is plenty), save progressive "
               "ones as ordinary JPEG, or give more --memory"});
}

}  // namespace plimsoll::job
