#include "machine/machine.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <ctime>

#include "base/cgroup.h"
#include "base/cpu.h"
#include "base/files.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "machine/crowding.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kProbeBytes = std::size_t{64} << 20;

// The text behind "key" and a colon in a /proc file.
std::string value_of(const std::string& text, std::string_view key) {
  for (const std::string_view line : split(text, '\n'))
    if (line.starts_with(key))
      if (const std::size_t colon = line.find(':'); colon != std::string_view::npos)
        return std::string(trim(line.substr(colon + 1)));
  return {};
}

Bytes kilobytes_of(const std::string& text, std::string_view key) {
  const std::string value = value_of(text, key);
  std::int64_t number = 0;
  std::from_chars(value.data(), value.data() + value.size(), number);
  return Bytes{number * 1024};
}

fs::path nearest_existing(fs::path path) {
  std::error_code error;
  path = fs::absolute(path, error);
  while (!fs::is_directory(path, error) && path.has_relative_path()) path = path.parent_path();
  return path;
}

std::string file_system_name(const fs::path& path) {
  struct statfs status {};
  if (::statfs(path.c_str(), &status) != 0) return "unknown";
  switch (static_cast<unsigned long>(status.f_type)) {
    case 0xEF53: return "ext4";
    case 0x58465342: return "xfs";
    case 0x9123683E: return "btrfs";
    case 0x01021994: return "tmpfs";
    case 0x6969: return "nfs";
    case 0x794C7630: return "overlay";
    case 0x2FC12FC1: return "zfs";
    case 0x65735546: return "fuse";
    case 0xFF534D42: return "cifs";
    default: return fmt::format("type 0x{:x}", static_cast<unsigned long>(status.f_type));
  }
}

void examine_disk(Machine& machine, std::vector<Remark>& remarks) {
  machine.file_system = file_system_name(machine.out);
  std::error_code error;
  machine.disk_free = Bytes{static_cast<std::int64_t>(fs::space(machine.out, error).available)};
  const std::string where = machine.out.string();
  if (machine.file_system == "tmpfs")
    remarks.push_back({Severity::warning, where,
                       "runs would be written to memory (tmpfs): it is lost at the next start and "
                       "counts against the container's limit",
                       "choose another folder with --out"});
  if (machine.disk_free < Bytes{std::int64_t{2 * kProbeBytes}}) {
    remarks.push_back({Severity::error, where,
                       "only " + to_string(machine.disk_free) + " of the disk is free",
                       "free some space, or choose another folder with --out"});
    return;
  }
  if (machine.disk_free < 1_GiB)
    remarks.push_back({Severity::warning, where,
                       "only " + to_string(machine.disk_free) + " of the disk is free",
                       "a checkpoint needs its size twice while it is written"});
  std::string probe = (machine.out / ".plimsoll-check-XXXXXX").string();
  FileHandle file(::mkstemp(probe.data()));
  if (!file.is_open()) {
    remarks.push_back({Severity::error, where,
                       "cannot write: " + std::generic_category().message(errno),
                       "choose a folder that you may write to with --out"});
    return;
  }
  ::unlink(probe.c_str());
  // Not zeros: some file systems do not store those.
  std::string block(std::size_t{1} << 20, '\0');
  std::uint64_t x = 1;
  for (char& c : block) c = static_cast<char>((x = x * 6364136223846793005ULL + 1) >> 56);
  const Stopwatch watch;
  std::size_t written = 0;
  // At most about two seconds: a slow disk need not be measured to the last byte.
  while (written < kProbeBytes && watch.seconds() < 2) {
    const ssize_t put = ::write(file.descriptor(), block.data(), block.size());
    if (put <= 0) break;
    ::fdatasync(file.descriptor());
    written += static_cast<std::size_t>(put);
  }
  machine.write_mb_per_second = static_cast<double>(written) / 1e6 / watch.seconds();
  struct stat status {};
  if (::fstat(file.descriptor(), &status) == 0) {
    const std::int64_t skew = status.st_mtim.tv_sec - std::time(nullptr);
    if (std::abs(skew) > 60)
      remarks.push_back({Severity::warning, where,
                         fmt::format("the clock of its file system is off by {} s", skew),
                         "set both clocks by NTP"});
  }
}

void examine_limits(Machine& machine, std::vector<Remark>& remarks) {
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    machine.open_files =
        limit.rlim_cur == RLIM_INFINITY ? 1 << 30 : static_cast<std::int64_t>(limit.rlim_cur);
    if (machine.open_files < 64 + 2 * machine.usable)
      remarks.push_back({Severity::error, "ulimit -n",
                         fmt::format("at most {} open files", machine.open_files),
                         "ulimit -n 1024"});
  }
  const auto tighten = [&](std::int64_t value) {
    if (value > 0 && (machine.processes == 0 || value < machine.processes))
      machine.processes = value;
  };
  if (::getrlimit(RLIMIT_NPROC, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    tighten(static_cast<std::int64_t>(limit.rlim_cur));
  for (const CgroupLevel& level : cgroup_levels("pids")) {
    const std::string text = read_system_file(level.folder / "pids.max");
    std::int64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    tighten(value);
  }
  if (machine.processes > 0 && machine.processes < 8 + 3 * machine.usable)
    remarks.push_back({Severity::error, "limit of processes",
                       fmt::format("at most {} threads", machine.processes),
                       "raise `ulimit -u` or the container's pids limit"});
}

}  // namespace

Machine examine_machine(const fs::path& out, std::vector<Remark>& remarks) {
  Machine machine;
  // A run measures its memory by this file, and refuses to go on without.
  if (read_system_file("/proc/self/status").empty())
    remarks.push_back({Severity::error, "/proc",
                       "it cannot be read: the processor's name, the machine's memory and swap, "
                       "and the limits of control groups were not looked at",
                       "mount -t proc proc /proc"});
  machine.processor = value_of(read_system_file("/proc/cpuinfo"), "model name");
  if (machine.processor.empty()) machine.processor = "of unknown name";
  machine.cores = affinity_cores();
  machine.quota = cpu_quota().value_or(0);
  machine.usable = usable_cores();
  if (machine.quota > 0 && machine.quota < machine.cores)
    remarks.push_back({Severity::note, "container",
                       fmt::format("{} processors are seen, the quota gives {:.2g}", machine.cores,
                                   machine.quota),
                       ""});
  machine.cores_now = measure_cores(machine.usable).value_or(machine.usable);
  if (machine.cores_now < 0.85 * machine.usable)
    remarks.push_back(
        {Severity::note, "processor",
         fmt::format("{} threads share {:.1f} cores, other work has the rest", machine.usable,
                     machine.cores_now),
         "runs will be slower as long as that is so; fewer --threads may be as fast"});
  const std::string memory = read_system_file("/proc/meminfo");
  machine.memory = kilobytes_of(memory, "MemTotal");
  machine.swap = kilobytes_of(memory, "SwapTotal");
  machine.swap_free = kilobytes_of(memory, "SwapFree");
  machine.limits = memory_limits();
  const MemoryLimit tightest = tightest_limit(machine.limits);
  if (tightest.left < 256_MiB)
    remarks.push_back({Severity::warning, tightest.named,
                       "it leaves " + to_string(tightest.left) + " for a run",
                       "few networks train in less than 256 MiB; `plimsoll plan` tells"});
  machine.out = nearest_existing(out);
  examine_disk(machine, remarks);
  struct statvfs shm {};
  if (::statvfs("/dev/shm", &shm) == 0) {
    machine.shm = Bytes{static_cast<std::int64_t>(shm.f_blocks * shm.f_frsize)};
    machine.shm_free = Bytes{static_cast<std::int64_t>(shm.f_bavail * shm.f_frsize)};
  }
  examine_limits(machine, remarks);
  const std::time_t now = std::time(nullptr);
  machine.time = fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::gmtime(now));
  constexpr std::time_t kBefore = 1735689600;  // 2025: before this program was written
  if (now < kBefore)
    remarks.push_back({Severity::warning, "clock", "it says " + machine.time,
                       "set it: names of runs and the times in logs come from it"});
  return machine;
}

}  // namespace plimsoll
