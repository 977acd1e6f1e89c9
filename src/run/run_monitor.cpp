#include "run/run_monitor.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <utility>

#include "base/files.h"
#include "base/text.h"

namespace plimsoll {
namespace {

constexpr std::chrono::seconds kPeriod{1};
constexpr double kGraceSeconds = 5;
constexpr double kFirstSeconds = 120;  // the first step compiles kernels, fills queues
// Sleeping so much longer than asked for: the process was stopped, or the machine slept.
constexpr double kStoppedSeconds = 3;
// The kernel's own counters lag and round.
constexpr std::int64_t kLimitNoise = std::int64_t{4} << 20;

// Who cannot read the limits cannot warn of them.
std::vector<MemoryLimit> limits_now() {
  try {
    return memory_limits();
  } catch (const std::exception&) {
    return {};
  }
}

double seconds(std::chrono::steady_clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

std::string_view to_string(Activity activity) {
  constexpr std::array<std::string_view, kActivities> kNames{"training", "validating", "saving"};
  return kNames[static_cast<std::size_t>(activity)];
}

std::string thread_states() {
  std::string text;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task", error)) {
    const std::filesystem::path& task = entry.path();
    const std::string status = read_system_file(task / "status");
    const auto field = [&](std::string_view key) {
      const std::size_t at = status.find(key);
      if (at == std::string::npos) return std::string("?");
      const std::size_t from = at + key.size();
      return std::string(trim(std::string_view(status).substr(from, status.find('\n', at) - from)));
    };
    const std::string where = read_system_file(task / "wchan");
    text += fmt::format("  thread {} {}: {}{}\n", task.filename().string(), field("Name:"),
                        field("State:"), where.empty() || where == "0" ? "" : ", in " + where);
  }
  return text;
}

RunMonitor::RunMonitor(RunMonitorCalls calls, std::int64_t needed_bytes)
    : calls_(std::move(calls)),
      needed_bytes_(needed_bytes),
      limits_(limits_now()),
      pulse_{.last_beat = Clock::now()} {
  // Signals are for the thread that runs.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { attend(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

RunMonitor::~RunMonitor() {
  {
    const std::scoped_lock lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

void RunMonitor::beat(double seconds) noexcept {
  const std::scoped_lock lock(pulse_mutex_);
  pulse_.begin_anew();
  if (seconds <= 0) return;
  double& usual = pulse_.usual();
  usual = usual == 0 ? seconds : 0.9 * usual + 0.1 * seconds;
}

void RunMonitor::set_awaited(bool awaited) noexcept {
  const std::scoped_lock lock(pulse_mutex_);
  pulse_.begin_anew();
  pulse_.is_awaited = awaited;
}

Activity RunMonitor::turn_to(Activity activity) noexcept {
  const std::scoped_lock lock(pulse_mutex_);
  pulse_.begin_anew();
  return std::exchange(pulse_.activity, activity);
}

void RunMonitor::set_waiting(bool waiting) noexcept {
  const std::scoped_lock lock(pulse_mutex_);
  if (pulse_.activity == Activity::saving) pulse_.begin_anew();
  pulse_.is_waiting = waiting;
}

void RunMonitor::attend() {
  std::unique_lock lock(mutex_);
  while (!stop_) {
    const Clock::time_point before = Clock::now();
    wake_.wait_for(lock, kPeriod);
    if (stop_) break;
    lock.unlock();
    const double slept = seconds(Clock::now() - before) - seconds(kPeriod);
    look_for_stall(slept > kStoppedSeconds ? slept : 0);
    look_at_limit();
    if (calls_.every_second) {
      const Activity activity = [&] {
        const std::scoped_lock pulse(pulse_mutex_);
        return pulse_.now();
      }();
      calls_.every_second(activity);
    }
    lock.lock();
  }
}

void RunMonitor::look_for_stall(double slept_too_long) {
  const std::scoped_lock lock(pulse_mutex_);
  if (slept_too_long > 0) {
    pulse_.last_beat = Clock::now();  // nobody could have worked
    return;
  }
  const double usual = pulse_.usual();
  const double quiet = seconds(Clock::now() - pulse_.last_beat);
  const double limit = usual > 0 ? 3 * usual + kGraceSeconds : kFirstSeconds;
  if (!pulse_.is_awaited || quiet < limit || pulse_.beats == reported_beat_) return;
  reported_beat_ = pulse_.beats;
  if (!calls_.stalled) return;
  const std::string before =
      usual > 0 ? fmt::format(", a step of it usually takes {:.2g} s", usual) : "";
  calls_.stalled(pulse_.now(), fmt::format("no progress for {:.0f} s in {}{}\n{}", quiet,
                                           to_string(pulse_.now()), before, thread_states()));
}

void RunMonitor::look_at_limit() {
  if (needed_bytes_ == 0 || !calls_.squeezed) return;
  bool enough = true;
  for (const MemoryLimit& limit : limits_now()) {
    const auto before = std::find_if(limits_.begin(), limits_.end(),
                                     [&](const MemoryLimit& l) { return l.named == limit.named; });
    const bool lowered =
        before == limits_.end() || limit.left.count + kLimitNoise < before->left.count;
    if (!lowered || limit.left.count >= needed_bytes_) continue;
    enough = false;
    if (std::exchange(is_squeezed_, true)) continue;
    calls_.squeezed(fmt::format("the run needs {} and {} now leaves {}",
                                to_string(Bytes{needed_bytes_}), limit.named,
                                to_string(limit.left)));
  }
  is_squeezed_ = !enough;
}

}  // namespace plimsoll
