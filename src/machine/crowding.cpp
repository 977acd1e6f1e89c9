#include "machine/crowding.h"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <system_error>
#include <vector>

#include "base/cpu.h"
#include "base/stopwatch.h"

namespace plimsoll {
namespace {

constexpr std::chrono::milliseconds kInterval(250);

// While it lives, libgomp has more threads than there are processors, and then its waiting threads
// give up spinning after a few microseconds. The threads of this second team sleep.
class SpareTeam {
 public:
  explicit SpareTeam(int threads) {
    const int spare = std::max(2, affinity_cores() - threads + 2);
    try {
      thread_ = std::thread([this, spare] {
#pragma omp parallel num_threads(spare)
        {
          ++members_;  // only that they exist matters, but an empty region would be left out
        }
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [this] { return stop_; });
      });
    } catch (const std::system_error&) {
      // Then they spin on.
    }
  }
  SpareTeam(const SpareTeam&) = delete;
  SpareTeam& operator=(const SpareTeam&) = delete;
  ~SpareTeam() {
    {
      const std::scoped_lock lock(mutex_);
      stop_ = true;
    }
    wake_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  std::atomic<int> members_ = 0;
  std::thread thread_;
};

}  // namespace

CrowdMonitor::CrowdMonitor(int threads) : threads_(threads) {
  try {
    thread_ = std::thread([this] { watch(); });
  } catch (const std::system_error&) {
    // A process that may start no more threads goes without.
  }
}

CrowdMonitor::~CrowdMonitor() {
  {
    const std::scoped_lock lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::string CrowdMonitor::text() const {
  if (!is_crowded_) return "";
  return fmt::format("{} thread{} share{} {:.1f} cores, other work has the rest", threads_,
                     threads_ == 1 ? "" : "s", threads_ == 1 ? "s" : "", threads_ * share_.load());
}

void CrowdMonitor::watch() {
  CrowdJudge judge;
  std::optional<SpareTeam> spare;
  std::optional<ProcessorTime> before = processor_time();
  std::unique_lock lock(mutex_);
  while (before && !wake_.wait_for(lock, kInterval, [this] { return stop_; })) {
    const std::optional<ProcessorTime> now = processor_time();
    if (!now) return;
    judge.add(*now - *before);
    if (judge.is_crowded()) share_ = (*now - *before).share();
    is_crowded_ = judge.is_crowded();
    before = now;
    if (threads_ > 1 && judge.is_crowded() != spare.has_value()) {
      if (spare)
        spare.reset();
      else
        spare.emplace(threads_);
      before = processor_time();
    }
  }
}

std::optional<double> measure_cores(int threads) {
  constexpr double kSeconds = 0.2;
  std::atomic<bool> is_over = false;
  std::vector<std::thread> others;
  try {
    for (int i = 1; i < threads; ++i)
      others.emplace_back([&] {
        while (!is_over) continue;
      });
  } catch (const std::system_error&) {
    // As many as there may be.
  }
  const std::optional<ProcessorTime> before = processor_time();
  const Stopwatch watch;
  while (watch.seconds() < kSeconds) continue;
  const std::optional<ProcessorTime> after = processor_time();
  is_over = true;
  for (std::thread& thread : others) thread.join();
  if (!before || !after) return std::nullopt;
  return static_cast<double>(others.size() + 1) * (*after - *before).share();
}

}  // namespace plimsoll
