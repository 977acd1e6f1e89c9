#include "base/cpu.h"

#include <cpuid.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>
#include <string>
#include <thread>

#include "base/cgroup.h"
#include "base/error.h"
#include "base/files.h"
#include "base/text.h"

namespace plimsoll {
namespace {

std::optional<std::int64_t> parse_positive(std::string_view text) {
  std::int64_t value = 0;
  text = trim(text);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value <= 0) return std::nullopt;
  return value;
}

// v2: cpu.max is "200000 100000" or "max 100000"; v1: two files, and a quota of -1 is none.
std::optional<double> quota_of(const CgroupLevel& level) {
  std::optional<std::int64_t> quota;
  std::optional<std::int64_t> period;
  if (level.version == 2) {
    const std::string text = read_system_file(level.folder / "cpu.max");
    const std::vector<std::string_view> words = split(trim(text), ' ');
    if (words.size() != 2) return std::nullopt;
    quota = parse_positive(words[0]);
    period = parse_positive(words[1]);
  } else {
    quota = parse_positive(read_system_file(level.folder / "cpu.cfs_quota_us"));
    period = parse_positive(read_system_file(level.folder / "cpu.cfs_period_us"));
  }
  if (!quota || !period) return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

}  // namespace

int affinity_cores() {
  // The mask must be at least as large as the kernel's; machines beyond 1024 processors exist.
  for (int processors = 1024; processors <= 1 << 20; processors *= 2) {
    const auto release = [](cpu_set_t* set) { CPU_FREE(set); };
    const std::unique_ptr<cpu_set_t, decltype(release)> set(
        CPU_ALLOC(static_cast<std::size_t>(processors)), release);
    const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(processors));
    if (sched_getaffinity(0, bytes, set.get()) == 0)
      return std::max(1, CPU_COUNT_S(bytes, set.get()));
  }
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

std::optional<double> cpu_quota(const std::filesystem::path& root) {
  std::optional<double> smallest;
  for (const CgroupLevel& level : cgroup_levels("cpu", root)) {
    const std::optional<double> quota = quota_of(level);
    if (quota && (!smallest || *quota < *smallest)) smallest = quota;
  }
  return smallest;
}

int usable_cores() {
  const int cores = affinity_cores();
  const std::optional<double> quota = cpu_quota();
  if (!quota || *quota >= cores) return cores;
  return std::max(1, static_cast<int>(std::ceil(*quota)));
}

std::string cpu_model() {
  constexpr unsigned kFirst = 0x80000002;
  std::string name;
  for (unsigned leaf = kFirst; leaf < kFirst + 3; ++leaf) {
    unsigned words[4] = {};
    if (__get_cpuid(leaf, &words[0], &words[1], &words[2], &words[3]) == 0) break;
    for (unsigned word : words)
      for (int shift = 0; shift < 32; shift += 8)
        if (const char c = static_cast<char>(word >> shift & 0xFF); c != 0) name += c;
  }
  std::string text(trim(name));
  for (int size : {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE})
    text += " " + std::to_string(::sysconf(size));
  return text;
}

bool has_avx2_fma_f16c() {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  // The builtins also ask whether the system saves the wide registers; F16C has no builtin in
  // every compiler, and needs no more of the system than AVX does.
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}

bool has_avx512() {
  return has_avx2_fma_f16c() && __builtin_cpu_supports("avx512f") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}

bool has_avx512_bf16() { return has_avx512() && __builtin_cpu_supports("avx512bf16"); }

bool halves_avx512() { return has_avx512() && __builtin_cpu_is("amdfam19h"); }

int check_threads(std::int64_t threads, std::string_view where) {
  if (threads < 1 || threads > kMaxThreads)
    throw UsageError({.where = std::string(where),
                      .got = std::to_string(threads) + " threads",
                      .expected = "expected 1 to " + std::to_string(kMaxThreads),
                      .hint = "without the option, all " + std::to_string(usable_cores()) +
                              " usable processors are used"});
  return static_cast<int>(threads);
}

}  // namespace plimsoll
