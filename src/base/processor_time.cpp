#include "base/processor_time.h"

#include <charconv>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/files.h"

namespace plimsoll {
namespace {

// The next number of "1234 5678 90"; takes it off the text.
std::optional<double> next_number(std::string_view& text) {
  const std::size_t begin = text.find_first_of("0123456789");
  if (begin == std::string_view::npos) return std::nullopt;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data() + begin, text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return static_cast<double>(value);
}

}  // namespace

void CrowdJudge::add(const ProcessorTime& got) {
  constexpr double kCrowded = 0.85;
  constexpr double kCalm = 0.95;
  constexpr int kPatience = 20;
  // Less than this says nothing: the process slept.
  constexpr double kLeastRunning = 0.02;
  if (got.running < kLeastRunning) return;
  calm_ = got.share() >= kCalm ? calm_ + 1 : 0;
  if (got.share() < kCrowded)
    is_crowded_ = true;
  else if (calm_ >= kPatience)
    is_crowded_ = false;
}

std::optional<ProcessorTime> processor_time() {
  ProcessorTime sum;
  bool told = false;
  std::error_code error;
  std::filesystem::directory_iterator task("/proc/self/task", error);
  for (; !error && task != std::filesystem::directory_iterator(); task.increment(error)) {
    // Nanoseconds on a processor, nanoseconds in a queue for one, time slices.
    const std::string stat = read_system_file(task->path() / "schedstat");
    std::string_view rest = stat;
    const std::optional<double> running = next_number(rest);
    const std::optional<double> waiting = next_number(rest);
    if (!running || !waiting) continue;  // a thread that has ended meanwhile
    sum.running += *running * 1e-9;
    sum.waiting += *waiting * 1e-9;
    told = true;
  }
  if (!told) return std::nullopt;
  return sum;
}

}  // namespace plimsoll
