#include "cli/memory_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/cache_directory.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/memory_usage.h"
#include "exec/spill.h"

namespace plimsoll::cli {
namespace {

constexpr std::int64_t kMostMicroBatches = 1024;

std::string size_text(std::int64_t bytes) { return to_string(Bytes{bytes}); }

// Bytes of the process when a trainer follows fates that were found for another batch.
std::int64_t bytes_with(Variant variant, const Fates& fates) {
  Session& session = variant.trainer.session();
  session.plan(fates);
  return process_bytes(session, variant.around.with_workers(std::min(variant.around.workers, 1)),
                       session.arena_bytes());
}

}  // namespace

void MemoryOptions::add_to(CLI::App& command) {
  command.add_option("--memory", memory,
                     "budget of the whole process: 2GiB, 1.5GB, bytes, or unlimited; default: what "
                     "the container and the machine leave");
  command.add_option("--stash", stash, "what is kept for backward: f32, or f16 (lossy)")
      ->capture_default_str();
  command.add_option("--spill", spill, "directory of a file for what does not fit; lossless");
  command
      .add_option("--accumulate", accumulate,
                  "micro-batches per update; BatchNorm sees each on its own")
      ->capture_default_str();
}

void MemoryOptions::check() const {
  if (stash != "f32" && stash != "f16")
    throw UsageError(
        {.where = "--stash", .got = "'" + stash + "'", .expected = "expected f32 or f16"});
  if (accumulate < 1 || accumulate > kMostMicroBatches)
    throw UsageError({.where = "--accumulate",
                      .got = std::to_string(accumulate),
                      .expected = fmt::format("expected 1 to {}", kMostMicroBatches)});
  if (!spill.empty()) SpillFile(spill, 0);
}

Budget find_budget(const MemoryOptions& options) {
  const MemoryLimit limit = tightest_limit(memory_limits());
  if (options.memory.empty()) return {limit.left.count, limit.named};
  const Bytes asked = parse_bytes(options.memory, "--memory");
  if (asked != kUnlimited && asked > limit.left)
    fmt::print(stderr, "plimsoll: --memory {}: more than the {} that {} leaves\n", options.memory,
               to_string(limit.left), limit.named);
  return {asked.count, "--memory"};
}

Bytes left_to_scan(const Budget& budget) {
  if (budget.bytes == kUnlimited.count) return kUnlimited;
  // Threads and their heaps, lists of findings.
  constexpr Bytes kBeside = 4_MiB;
  release_free_memory();
  return std::max(Bytes{0}, Bytes{budget.bytes} - memory_usage().now() - kBeside);
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
      {.where = fmt::format("budget {} ({})", size_text(budget.bytes), budget.bound_by),
       .got =
           fmt::format("{} too large to be decoded in it:{}",
                       count == 1 ? "1 picture is" : fmt::format("{} pictures are", count), files),
       .expected = "expected pictures that fit; nothing was started",
       .hint = "make them smaller once (a short side of 320 to 400 is plenty), save progressive "
               "ones as ordinary JPEG, or give more --memory"});
}

Surroundings surroundings(const PipelineBytes& bytes, int threads) {
  return {.input_bytes = (bytes.queue + bytes.cache + bytes.index).count,
          .worker_bytes = bytes.worker.count,
          .workers = bytes.workers,
          .threads = threads};
}

PlannedRun plan_run(Variant& variant, const MemoryOptions& options, const Budget& budget,
                    std::int64_t batch) {
  PlannedRun run{.budget = budget,
                 .request = {.bytes = budget.bytes,
                             .means = options.means(),
                             .around = variant.around,
                             .cache = cache_directory()},
                 .batch = batch,
                 .plan = {}};
  Session& session = variant.trainer.session();
  session.set_times(KernelTimes::load(cache_directory(), variant.around.threads));
  run.plan = plan_within(session, run.request);
  return run;
}

std::int64_t largest_batch(const VariantMaker& make, const PlannedRun& run, const Fates& floor,
                           std::int64_t accumulate) {
  const auto fits = [&](std::int64_t batch) {
    return bytes_with(make(batch, accumulate), floor) <= run.budget.bytes;
  };
  constexpr std::int64_t kMost = 1 << 14;
  std::int64_t good = 0;
  std::int64_t bad = 1;
  while (bad <= kMost && fits(bad)) {
    good = bad;
    bad *= 2;
  }
  while (good + 1 < bad) {
    const std::int64_t middle = (good + bad) / 2;
    (fits(middle) ? good : bad) = middle;
  }
  return std::min(good, kMost);
}

std::vector<Lever> find_levers(const VariantMaker& make, const MemoryOptions& options,
                               const PlannedRun& run) {
  std::vector<Lever> levers;
  const Fates& floor = run.plan.frontier.points.back().fates;
  const auto floor_of = [&](std::int64_t batch, std::int64_t accumulate) {
    return bytes_with(make(batch, accumulate), floor);
  };
  const std::int64_t batch = largest_batch(make, run, floor, options.accumulate);
  if (batch > 0 && batch < run.batch)
    levers.push_back({fmt::format("--batch {}", batch), floor_of(batch, options.accumulate),
                      "the largest batch that fits"});
  const auto with_means = [&](const Means& means, const std::string& option,
                              const std::string& note) {
    Variant variant = make(run.batch, options.accumulate);
    BudgetRequest request = run.request;
    request.means = means;
    levers.push_back({option, plan_within(variant.trainer.session(), request).floor_bytes, note});
  };
  Means means = options.means();
  if (!means.half) {
    Means more = means;
    more.half = true;
    with_means(more, "--stash f16", "16-bit stash, lossy");
  }
  if (!means.spill) {
    Means more = means;
    more.spill = true;
    with_means(more, "--spill DIR", "to a file, lossless, slow");
  }
  for (std::int64_t parts = 2 * options.accumulate; parts <= run.batch; parts *= 2) {
    const std::int64_t bytes = floor_of(run.batch, parts);
    if (bytes > run.budget.bytes && parts * 2 <= run.batch) continue;
    levers.push_back({fmt::format("--accumulate {}", parts), bytes,
                      "micro-batches; BatchNorm sees each on its own"});
    break;
  }
  return levers;
}

BudgetError refusal(const Trainer& trainer, const PlannedRun& run,
                    const std::vector<Lever>& levers) {
  const Usage usage = usage_of(trainer.session().problem(0), run.plan.fates());
  std::string tensors;
  for (std::size_t i = 0; i < std::min<std::size_t>(3, usage.at_peak.size()); ++i)
    tensors += fmt::format("{}'{}' {}", i == 0 ? "" : ", ", usage.at_peak[i].name,
                           size_text(usage.at_peak[i].bytes));
  std::string hint =
      fmt::format("--memory {} is the smallest that fits as it stands", run.plan.floor_bytes);
  for (const Lever& lever : levers)
    hint += fmt::format("\nhint: {} needs {}{} ({})", lever.option, size_text(lever.floor_bytes),
                        lever.floor_bytes <= run.budget.bytes ? ", which fits" : "", lever.note);
  return BudgetError(
      {.where = fmt::format("budget {} ({})", size_text(run.budget.bytes), run.budget.bound_by),
       .got =
           fmt::format("the smallest plan needs {}; it is fullest at '{}', which holds {}",
                       size_text(run.plan.floor_bytes), usage.step_names[usage.peak_step], tensors),
       .expected = "expected a plan within the budget; nothing was started",
       .hint = hint});
}

}  // namespace plimsoll::cli
