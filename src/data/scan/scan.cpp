#include "data/scan/scan.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>

#include "base/cpu.h"
#include "base/stopwatch.h"
#include "data/batch/worker_threads.h"
#include "data/scan/scan_part.h"
#include "data/scan/scanner.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kPiece = 8;  // samples taken at a time

void find_duplicates(const Source& source, ScanReport& report) {
  std::vector<std::pair<std::uint64_t, std::int64_t>> sorted;
  sorted.reserve(report.contents.size());
  for (std::size_t i = 0; i < report.contents.size(); ++i)
    if (report.contents[i] != 0)
      sorted.emplace_back(report.contents[i], static_cast<std::int64_t>(i));
  std::ranges::sort(sorted);
  for (std::size_t first = 0; first < sorted.size();) {
    std::size_t end = first + 1;
    while (end < sorted.size() && sorted[end].first == sorted[first].first) ++end;
    if (end - first > 1) {
      std::vector<std::int64_t> group;
      bool differ = false;
      for (std::size_t k = first; k < end; ++k) {
        group.push_back(sorted[k].second);
        differ = differ || source.label(group.back()) != source.label(group.front());
      }
      if (differ)
        for (const std::int64_t i : group) report.duplicates_of_other_class.add(i);
      report.duplicates.push_back(std::move(group));
    }
    first = end;
  }
  report.duplicates_of_other_class.settle();
  std::ranges::sort(report.duplicates);
}

// What is found of samples [range), with nothing settled yet.
ScanReport scan_range(const Source& source, const ScanOptions& options, const ScanRange& range,
                      const Stopwatch& watch) {
  ScanReport report;
  report.contents.assign(static_cast<std::size_t>(source.size()), 0);
  report.workers = options.workers > 0 ? options.workers : usable_cores();
  report.workers = static_cast<int>(
      std::clamp<std::int64_t>((range.size() + kPiece - 1) / kPiece, 1, report.workers));

  // Every worker holds a file at a time; the rest is for decoding.
  const Bytes encoded = source.index().largest_encoded;
  Bytes to_decode = options.memory;
  if (options.memory != kUnlimited) {
    while (report.workers > 1 && encoded * report.workers > options.memory / 2) --report.workers;
    to_decode = std::max(Bytes{0}, options.memory - encoded * report.workers);
  }
  Allowance allowance(to_decode);
  std::atomic<std::int64_t> next = range.begin;
  std::atomic<std::int64_t> done = 0;
  std::atomic<std::int64_t> bad = 0;
  std::mutex mutex;
  std::condition_variable finished;
  int running = report.workers;
  std::exception_ptr failure;
  const auto work = [&] {
    try {
      Scanner scanner(source, options, allowance, report.contents);
      while (true) {
        const std::int64_t first = next.fetch_add(kPiece);
        if (first >= range.end) break;
        const std::int64_t bad_before = scanner.bad();
        const std::int64_t end = std::min(range.end, first + kPiece);
        for (std::int64_t i = first; i < end; ++i) scanner.look_at(i);
        done += end - first;
        bad += scanner.bad() - bad_before;
      }
      const std::scoped_lock lock(mutex);
      merge(scanner.found(), report);
      --running;
    } catch (...) {
      next = range.end;
      const std::scoped_lock lock(mutex);
      failure = std::current_exception();
      --running;
    }
    finished.notify_one();
  };
  {
    WorkerThreads threads;
    const int started = threads.start(report.workers, "scan of the data", [&](int) { work(); });
    std::unique_lock lock(mutex);
    running -= report.workers - started;
    report.workers = started;
    while (!finished.wait_for(lock, std::chrono::milliseconds(100), [&] { return running == 0; })) {
      if (!options.progress) continue;
      lock.unlock();
      const bool go_on = options.progress(
          {.done = done, .samples = range.size(), .bad = bad, .seconds = watch.seconds()});
      lock.lock();
      if (!go_on) {
        next = range.end;
        report.is_whole = false;
      }
    }
  }
  if (failure) std::rethrow_exception(failure);
  keep_biggest(report.biggest);
  if (options.progress)
    options.progress({.done = done,
                      .samples = range.size(),
                      .bad = std::ssize(report.bad),
                      .seconds = watch.seconds()});
  return report;
}

// The own share is scanned, and what all found becomes one report: whatever happens here, the
// others hear of it, or they would wait.
ScanReport scan_together(const Source& source, const ScanOptions& options, const Stopwatch& watch) {
  const ScanShare& together = options.together;
  const auto range = [&](int share) {
    return range_of_share(source.size(), share, together.shares);
  };
  ScanReport whole;
  std::string mine;
  try {
    const ScanReport own = scan_range(source, options, range(together.share), watch);
    whole.workers = own.workers;
    mine = pack_part(own, range(together.share));
  } catch (const Error& error) {
    mine = pack_failure(error.complaint());
  } catch (const std::bad_alloc&) {
    mine = pack_failure({.where = "scan of the data",
                         .got = "the system has no memory left",
                         .expected = "expected what was planned"});
  }
  whole.contents.assign(static_cast<std::size_t>(source.size()), 0);
  const std::vector<std::string> all = together.gather(mine);
  for (int share = 0; share < together.shares; ++share)
    merge_packed(all[static_cast<std::size_t>(share)], range(share),
                 "share " + std::to_string(share) + " of the scan", whole);
  return whole;
}

}  // namespace

ScanReport scan(const Source& source, const ScanOptions& options) {
  const Stopwatch watch;
  ScanReport report = options.together.shares > 1
                          ? scan_together(source, options, watch)
                          : scan_range(source, options, {0, source.size()}, watch);
  std::ranges::sort(report.bad, {}, &BadSample::sample);
  const std::int64_t good = std::max<std::int64_t>(1, report.samples - std::ssize(report.bad));
  report.mean = {report.mean.height / good, report.mean.width / good};
  keep_biggest(report.biggest);
  find_duplicates(source, report);
  report.seconds = watch.seconds();
  return report;
}

}  // namespace plimsoll
