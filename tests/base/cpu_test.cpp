#include "base/cpu.h"

#include <gtest/gtest.h>

#include "base/cgroup.h"
#include "tests/support/complaints.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll {
namespace {

constexpr const char* kUnified = "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n";
constexpr const char* kLegacy =
    "33 1 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct\n";

TEST(Cpu, FindsAtLeastOneCore) {
  EXPECT_GE(affinity_cores(), 1);
  EXPECT_GE(usable_cores(), 1);
  EXPECT_LE(usable_cores(), affinity_cores());
}

TEST(Cpu, HasWhatTheTestsWereCompiledFor) { EXPECT_TRUE(has_avx2_fma_f16c()); }

TEST(Cpu, TakesTheSmallestQuotaOfAllLevels) {
  const TemporaryFolder root;
  root.put("proc/self/cgroup", "0::/slice/job\n");
  root.put("proc/self/mountinfo", kUnified);
  EXPECT_EQ(cpu_quota(root.path()), std::nullopt);
  root.put("sys/fs/cgroup/slice/job/cpu.max", "max 100000\n");
  EXPECT_EQ(cpu_quota(root.path()), std::nullopt);
  root.put("sys/fs/cgroup/slice/cpu.max", "150000 100000\n");
  EXPECT_EQ(cpu_quota(root.path()), 1.5);
  root.put("sys/fs/cgroup/slice/job/cpu.max", "400000 100000\n");
  EXPECT_EQ(cpu_quota(root.path()), 1.5);
}

TEST(Cpu, ReadsQuotasOfTheOldHierarchy) {
  const TemporaryFolder root;
  root.put("proc/self/cgroup", "4:memory:/other\n3:cpu,cpuacct:/job\n");
  root.put("proc/self/mountinfo", kLegacy);
  root.put("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
  root.put("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(cpu_quota(root.path()), std::nullopt);
  root.put("sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "50000\n");
  EXPECT_EQ(cpu_quota(root.path()), 0.5);
}

TEST(Cpu, SeesItsOwnGroupWhenOnlyThatIsMounted) {
  const TemporaryFolder root;
  root.put("proc/self/cgroup", "3:cpu,cpuacct:/docker/abc/inner\n");
  root.put("proc/self/mountinfo",
           "33 1 0:29 /docker/abc /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu,cpuacct\n");
  const std::vector<CgroupLevel> levels = cgroup_levels("cpu", root.path());
  ASSERT_EQ(levels.size(), 2U);
  EXPECT_EQ(levels[0].folder, root / "sys/fs/cgroup/cpu/inner");
  EXPECT_EQ(levels[0].version, 1);
  EXPECT_EQ(levels[1].folder, root / "sys/fs/cgroup/cpu");
}

TEST(Cpu, IgnoresFilesThatMakeNoSense) {
  const TemporaryFolder root;
  EXPECT_EQ(cpu_quota(root.path()), std::nullopt);
  root.put("proc/self/cgroup", "no colons\n:\n::\n0::/job\n");
  root.put("proc/self/mountinfo",
           std::string("short\n - cgroup2\na b c d e - cgroup2 x\n") + kUnified);
  for (const char* text :
       {"", "max", "100000", "0 100000", "100000 0", "-5 100000", "a b", "1 2 3"}) {
    root.put("sys/fs/cgroup/job/cpu.max", text);
    EXPECT_EQ(cpu_quota(root.path()), std::nullopt) << text;
  }
}

TEST(Cpu, RefusesThreadCountsThatCannotBe) {
  EXPECT_EQ(check_threads(1), 1);
  EXPECT_EQ(check_threads(kMaxThreads), kMaxThreads);
  EXPECT_COMPLAINT(check_threads(0), UsageError, "--threads: 0 threads");
  EXPECT_COMPLAINT(check_threads(-3), UsageError, "-3");
  EXPECT_COMPLAINT(check_threads(std::int64_t{1} << 40), UsageError, "expected 1 to 1024");
}

}  // namespace
}  // namespace plimsoll
