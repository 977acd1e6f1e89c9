#include "job/levers.h"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>

#include "base/cache_directory.h"
#include "base/error.h"

namespace plimsoll::job {
namespace {

std::string size_text(std::int64_t bytes) { return to_string(Bytes{bytes}); }

// Sizes of runs like one that was planned: by its own smallest plan, which is quick and a few
// percent off, or by one made for them, which is what the program would do.
class Variants {
 public:
  Variants(const VariantMaker& make, const PlannedRun& run) : make_(make), run_(run) {}

  std::int64_t least_batch() const { return make_.ranks; }
  std::int64_t estimate(std::int64_t batch, std::int64_t accumulate) const {
    Variant variant = make_(batch, accumulate);
    const PlannedTapes planned = variant.trainer.tapes().plan(run_.plan.floor_fates);
    return process_bytes(planned, variant.around.with_workers(std::min(variant.around.workers, 1)),
                         planned.arena_bytes());
  }

  std::int64_t plan(std::int64_t batch, std::int64_t accumulate) const {
    return plan(make_(batch, accumulate), run_.request.means);
  }
  std::int64_t plan(Variant variant, const Means& means) const {
    BudgetRequest request = run_.request;
    request.means = means;
    request.around = variant.around;
    request.around.spills = means.spill;
    return smallest_bytes(variant.trainer.tapes(), request);
  }

 private:
  const VariantMaker& make_;
  const PlannedRun& run_;
};

// The largest batch by estimates.
std::int64_t guess_largest(const Variants& variants, std::int64_t budget, std::int64_t accumulate) {
  const std::int64_t least = variants.least_batch();
  const auto fits = [&](std::int64_t batch) {
    return batch >= least && variants.estimate(batch, accumulate) <= budget;
  };
  constexpr std::int64_t kMost = 1 << 14;
  std::int64_t good = 0;
  std::int64_t bad = least;
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

std::int64_t largest_batch(const Variants& variants, std::int64_t budget, std::int64_t accumulate) {
  const std::int64_t least = variants.least_batch();
  std::int64_t batch = std::max(least, guess_largest(variants, budget, accumulate));
  // Near the truth, so small steps first.
  for (std::int64_t step = std::max<std::int64_t>(1, batch / 32); batch > 0; step *= 2) {
    if (variants.plan(batch, accumulate) <= budget) return batch;
    batch = batch > least ? std::max(least, batch - step) : 0;
  }
  return 0;
}

// As long as it lives, kernels are chosen for a team of one. OpenMP keeps this number for each
// thread of a program, so nobody but the caller sees it.
class OneThread {
 public:
  OneThread() : before_(omp_get_max_threads()) { omp_set_num_threads(1); }
  ~OneThread() { omp_set_num_threads(before_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

// Whether reading data takes more than any other part of the run.
bool is_bound_by_input(const PlannedRun& run) {
  const auto& lines = run.plan.ledger.lines;
  const auto largest = std::ranges::max_element(lines, {}, &LedgerLine::bytes);
  return largest->line == kInputLine || largest->line == kIndexLine;
}

// What reading data takes, part by part, and what makes that less.
std::string input_text(const Surroundings& around) {
  return fmt::format(
      "reading data takes the most: {} for a worker to read, decode and resize a picture, {} for "
      "batches that wait, {} for the list of samples",
      size_text(around.worker_bytes), size_text(around.input_bytes), size_text(around.index_bytes));
}

std::string input_hint(const Surroundings& around) {
  if (around.worker_bytes >= std::max(around.input_bytes, around.index_bytes))
    return "\nhint: smaller pictures: make them smaller once (a short side of 320 to 400 is "
           "plenty)";
  if (around.index_bytes > around.input_bytes)
    return "\nhint: less data: IDX files are held whole, of folders and lists the names of all "
           "files; "
           "TFRecord files take some bytes a sample";
  return "\nhint: smaller batches or a smaller --image";
}

}  // namespace

Surroundings surroundings(const PipelineBytes& bytes, int threads) {
  return {.index_bytes = bytes.index.count,
          .input_bytes = (bytes.queue + bytes.cache).count,
          .decoder_bytes = bytes.decoders.count,
          .worker_bytes = bytes.worker.count,
          .workers = bytes.workers,
          .threads = threads};
}

PlannedRun plan_run(Variant& variant, const MemorySettings& options, const Budget& budget,
                    std::int64_t batch) {
  PlannedRun run{.budget = budget,
                 .request = {.bytes = budget.bytes,
                             .means = options.means(),
                             .around = variant.around,
                             .cache = cache_directory()},
                 .batch = batch,
                 .plan = {}};
  variant.trainer.tapes().set_times(KernelTimes::load(cache_directory(), variant.around.threads));
  run.plan = plan_within(variant.trainer, run.request);
  return run;
}

std::int64_t largest_batch(const VariantMaker& make, const PlannedRun& run,
                           std::int64_t accumulate) {
  return largest_batch(Variants(make, run), run.budget.bytes, accumulate);
}

std::vector<Lever> find_levers(const VariantMaker& make, const MemorySettings& options,
                               const PlannedRun& run) {
  std::vector<Lever> levers;
  const std::int64_t budget = run.budget.bytes;
  const std::int64_t accumulate = options.accumulate;
  const Variants variants(make, run);
  const std::int64_t batch = largest_batch(variants, budget, accumulate);
  if (batch > 0 && batch < run.batch)
    levers.push_back({fmt::format("--batch {}", batch), variants.plan(batch, accumulate),
                      "the largest batch that fits"});
  if (make.threads > 1) {
    const OneThread team;
    levers.push_back({"--threads 1",
                      variants.plan(make.make(run.batch, accumulate, 1), run.request.means),
                      "slower, and sums are rounded differently"});
  }
  const auto with_means = [&](const Means& means, const char* option, const char* note) {
    levers.push_back({option, variants.plan(make(run.batch, accumulate), means), note});
  };
  // Beside --stash f16 it is refused.
  if (make.make_short && !options.means().half)
    levers.push_back({"--precision bf16",
                      variants.plan(make.make_short(run.batch, accumulate), options.means()),
                      "activations in 16 bits, lossy"});
  Means more = options.means();
  more.half = true;
  // Ranks refuse it: their plans may round different values.
  if (more != options.means() && make.ranks == 1 && make.make_short)
    with_means(more, "--stash f16", "16-bit stash, lossy");
  more = options.means();
  more.spill = true;
  if (more != options.means() && !make.syncs)
    with_means(more, "--spill DIR", "to a file, lossless, slow");
  const std::int64_t most = std::min(run.batch, kMostMicroBatches);
  for (std::int64_t parts = 2 * accumulate; parts <= most; parts *= 2) {
    const bool is_last = parts * 2 > most;
    // Too far off for a plan of its own to make it fit.
    if (!is_last && variants.estimate(run.batch, parts) / 1.1 > static_cast<double>(budget))
      continue;
    const std::int64_t bytes = variants.plan(run.batch, parts);
    if (bytes > budget && !is_last) continue;
    levers.push_back({fmt::format("--accumulate {}", parts), bytes,
                      make.syncs ? "micro-batches, all of a process's at once"
                                 : "micro-batches; BatchNorm sees each on its own"});
    break;
  }
  // Sums of parts are held, too: where weights are what takes the room, parts gain nothing.
  std::erase_if(levers, [&](const Lever& lever) {
    return lever.floor_bytes >= run.plan.floor_bytes && lever.floor_bytes > budget;
  });
  // Where data is what takes the room, of the others only those count that are enough.
  if (is_bound_by_input(run))
    std::erase_if(levers, [&](const Lever& lever) { return lever.floor_bytes > budget; });
  return levers;
}

BudgetError refusal(const Trainer& trainer, const PlannedRun& run,
                    const std::vector<Lever>& levers) {
  const Usage usage = usage_of(trainer.tapes().problem(0), run.plan.fates);
  std::string tensors;
  for (std::size_t i = 0; i < std::min<std::size_t>(3, usage.at_peak.size()); ++i)
    tensors += fmt::format("{}'{}' {}", i == 0 ? "" : ", ", usage.at_peak[i].name,
                           size_text(usage.at_peak[i].bytes));
  const bool by_input = is_bound_by_input(run);
  std::string hint =
      fmt::format("--memory {} is the smallest that fits as it stands", run.plan.floor_bytes);
  if (by_input) hint += input_hint(run.request.around);
  for (const Lever& lever : levers)
    hint += fmt::format("\nhint: {} needs {}{} ({})", lever.option, size_text(lever.floor_bytes),
                        lever.floor_bytes <= run.budget.bytes ? ", which fits" : "", lever.note);
  return BudgetError(
      {.where = fmt::format("budget {} ({})", size_text(run.budget.bytes), run.budget.bound_by),
       .got = fmt::format("the smallest plan needs {}; {}{}", size_text(run.plan.floor_bytes),
                          by_input ? input_text(run.request.around) + "; the step " : "it ",
                          fmt::format("is fullest at '{}', which holds {}",
                                      usage.step_names[usage.peak_step], tensors)),
       .expected = "expected a plan within the budget; nothing was started",
       .hint = hint});
}

}  // namespace plimsoll::job
