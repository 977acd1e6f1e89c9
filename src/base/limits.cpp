#include "base/limits.h"

#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "base/cgroup.h"
#include "base/files.h"
#include "base/memory_usage.h"

namespace plimsoll {
namespace {

std::optional<std::int64_t> parse_number(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end == text.data()) return std::nullopt;
  return value;
}

// The number behind `key` at the beginning of a line.
std::optional<std::int64_t> number_behind(std::string_view text, std::string_view key) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    if (line.starts_with(key)) return parse_number(line.substr(key.size()));
    at = end + 1;
  }
  return std::nullopt;
}

// What the kernel can take back from a group: pages of files on a disk. Shared memory and files on
// tmpfs are in `file` and `total_cache` too and stay, as does what is locked; none of these is on
// the lists of file pages.
std::int64_t reclaimable(const std::string& stat, bool v2) {
  const auto pages = [&](const char* v2_key, const char* v1_key) {
    return number_behind(stat, v2 ? v2_key : v1_key).value_or(0);
  };
  return pages("inactive_file ", "total_inactive_file ") +
         pages("active_file ", "total_active_file ");
}

// The group's limit less what others in it hold. `own`: what this process holds, but for pages of
// files, which can be taken back whoever uses them.
std::optional<Bytes> left_in(const CgroupLevel& level, std::int64_t own) {
  const bool v2 = level.version == 2;
  const auto file = [&](const char* name) { return read_system_file(level.folder / name); };
  const auto limit = parse_number(file(v2 ? "memory.max" : "memory.limit_in_bytes"));
  constexpr std::int64_t kNoLimit = std::int64_t{1} << 60;  // v1 says "none" by a huge number
  if (!limit || *limit >= kNoLimit) return std::nullopt;
  const std::int64_t used =
      parse_number(file(v2 ? "memory.current" : "memory.usage_in_bytes")).value_or(0);
  const std::int64_t others = used - reclaimable(file("memory.stat"), v2) - own;
  return Bytes{std::max<std::int64_t>(0, *limit - std::max<std::int64_t>(0, others))};
}

}  // namespace

std::vector<MemoryLimit> memory_limits(const std::filesystem::path& root) {
  const std::string status = read_system_file(root / "proc/self/status");
  const auto own = [&](const char* key) { return number_behind(status, key).value_or(0) * 1024; };
  const std::int64_t resident = own("VmRSS:");
  std::vector<MemoryLimit> limits;
  const std::string memory = read_system_file(root / "proc/meminfo");
  if (const auto available = number_behind(memory, "MemAvailable:"))
    limits.push_back({Bytes{*available * 1024 + resident}, "the machine's available memory"});
  for (const CgroupLevel& level : cgroup_levels("memory", root))
    if (const auto left = left_in(level, own("RssAnon:") + own("VmPTE:")))
      limits.push_back({*left, "the limit of cgroup " + level.folder.string() + " (v" +
                                   std::to_string(level.version) + ")"});
  // Address space and data count what is mapped, touched or not: libraries, stacks.
  constexpr std::int64_t kMappedLater = std::int64_t{64} << 20;
  struct rlimit limit {};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    limits.push_back(
        {Bytes{std::max<std::int64_t>(0, static_cast<std::int64_t>(limit.rlim_cur) -
                                             (own("VmSize:") - resident) - kMappedLater)},
         "`ulimit -v`"});
  if (getrlimit(RLIMIT_DATA, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    limits.push_back(
        {Bytes{std::max<std::int64_t>(0, static_cast<std::int64_t>(limit.rlim_cur) -
                                             (own("VmData:") - own("RssAnon:")) - kMappedLater)},
         "`ulimit -d`"});
  if (limits.empty()) limits.push_back({kUnlimited, "nothing that could be found"});
  return limits;
}

MemoryLimit tightest_limit(const std::vector<MemoryLimit>& limits) {
  return *std::min_element(
      limits.begin(), limits.end(),
      [](const MemoryLimit& a, const MemoryLimit& b) { return a.left < b.left; });
}

std::optional<std::int64_t> cgroup_peak(const std::filesystem::path& root) {
  const std::vector<CgroupLevel> levels = cgroup_levels("memory", root);
  if (levels.empty()) return std::nullopt;
  const std::string members = read_system_file(levels[0].folder / "cgroup.procs");
  if (std::count(members.begin(), members.end(), '\n') != 1) return std::nullopt;
  const char* name = levels[0].version == 2 ? "memory.peak" : "memory.max_usage_in_bytes";
  return parse_number(read_system_file(levels[0].folder / name));
}

}  // namespace plimsoll
