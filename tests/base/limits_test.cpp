#include "base/limits.h"

#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

// A machine with 64 GiB and one group of 600 MiB, in which this process holds 5 MiB of its own.
class SmallGroup {
 public:
  explicit SmallGroup(int version) : version_(version) {
    root_.put("proc/meminfo", "MemTotal: 67108864 kB\nMemAvailable: 67108864 kB\n");
    root_.put("proc/self/status",
              "VmSize: 90000 kB\nVmPTE: 1024 kB\nVmRSS: 13312 kB\nRssAnon: 4096 kB\n"
              "RssFile: 9216 kB\nRssShmem: 0 kB\n");
    root_.put("proc/self/cgroup", version == 2 ? "0::/job\n" : "4:memory:/job\n");
    root_.put("proc/self/mountinfo", version == 2
                                         ? "30 1 0:26 / /group rw - cgroup2 cgroup2 rw\n"
                                         : "33 1 0:29 / /group rw - cgroup cgroup rw,memory\n");
    put(version == 2 ? "memory.max" : "memory.limit_in_bytes", 600 * kMiB);
  }
  void put_used(std::int64_t bytes) const {
    put(version_ == 2 ? "memory.current" : "memory.usage_in_bytes", bytes);
  }
  void put_stat(const std::string& text) const { root_.put("group/job/memory.stat", text); }
  std::int64_t left() const { return tightest_limit(memory_limits(root_.path())).left.count; }
  std::string binds() const { return tightest_limit(memory_limits(root_.path())).named; }

 private:
  void put(const std::string& name, std::int64_t number) const {
    root_.put("group/job/" + name, std::to_string(number) + "\n");
  }
  TemporaryFolder root_;
  int version_;
};

std::string line(const std::string& key, std::int64_t mib) {
  return key + " " + std::to_string(mib * kMiB) + "\n";
}

TEST(Limits, PageCacheOfFilesCanBeTakenBack) {
  const SmallGroup unified(2);
  unified.put_used(405 * kMiB);
  unified.put_stat(line("anon", 5) + line("file", 400) + line("shmem", 0) +
                   line("inactive_file", 300) + line("active_file", 100));
  EXPECT_EQ(unified.left(), 600 * kMiB);
  EXPECT_NE(unified.binds().find("(v2)"), std::string::npos) << unified.binds();
  const SmallGroup legacy(1);
  legacy.put_used(405 * kMiB);
  legacy.put_stat(line("cache", 0) + line("total_cache", 400) + line("total_shmem", 0) +
                  line("total_inactive_file", 300) + line("total_active_file", 100));
  EXPECT_EQ(legacy.left(), 600 * kMiB);
}

TEST(Limits, SharedMemoryThatOthersHoldIsNotLeft) {
  const SmallGroup unified(2);
  unified.put_used(345 * kMiB);
  unified.put_stat(line("anon", 5) + line("file", 340) + line("shmem", 300) +
                   line("inactive_anon", 305) + line("inactive_file", 25) +
                   line("active_file", 15));
  EXPECT_EQ(unified.left(), 300 * kMiB);
  const SmallGroup legacy(1);
  legacy.put_used(345 * kMiB);
  legacy.put_stat(line("total_cache", 340) + line("total_shmem", 300) +
                  line("total_inactive_file", 25) + line("total_active_file", 15));
  EXPECT_EQ(legacy.left(), 300 * kMiB);
}

TEST(Limits, LockedPagesOfFilesAreNotLeft) {
  const SmallGroup group(2);
  group.put_used(205 * kMiB);
  group.put_stat(line("anon", 5) + line("file", 200) + line("shmem", 0) +
                 line("inactive_file", 40) + line("active_file", 60) + line("unevictable", 100));
  EXPECT_EQ(group.left(), 500 * kMiB);
}

TEST(Limits, AGroupThatIsOverItsLimitLeavesNothing) {
  const SmallGroup group(2);
  group.put_used(900 * kMiB);
  group.put_stat(line("anon", 900));
  EXPECT_EQ(group.left(), 0);
}

}  // namespace
}  // namespace plimsoll
