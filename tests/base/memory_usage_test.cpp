#include "base/memory_usage.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>

#include "tests/support/complaints.h"

namespace plimsoll {
namespace {

TEST(MemoryUsage, SeesMemoryThatWasTouched) {
  const MemoryUsage before = memory_usage();
  constexpr std::size_t kSize = std::size_t{64} << 20;
  void* block = ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(block, MAP_FAILED);
  std::memset(block, 1, kSize);
  const MemoryUsage during = memory_usage();
  ::munmap(block, kSize);
  const MemoryUsage after = memory_usage();
  EXPECT_GE(during.resident - before.resident, 60_MiB);
  EXPECT_LE(after.resident, during.resident - 60_MiB);
  EXPECT_GE(after.high_water, during.resident - 1_MiB);
  EXPECT_GT(after.page_tables, 0_B);
  EXPECT_EQ(after.peak(), after.high_water + after.page_tables);
}

TEST(MemoryUsage, ReadsTheKernelsFormat) {
  const MemoryUsage usage =
      parse_memory_usage("Name:\tx\nVmHWM:\t  2048 kB\nVmRSS:\t  1024 kB\nVmPTE:\t  48 kB\n");
  EXPECT_EQ(usage.high_water, 2_MiB);
  EXPECT_EQ(usage.resident, 1_MiB);
  EXPECT_EQ(usage.page_tables, 48_KiB);
}

TEST(MemoryUsage, SaysWhatIsMissing) {
  EXPECT_COMPLAINT(parse_memory_usage("VmHWM: 1 kB\nVmRSS: 1 kB\n"), DataError, "VmPTE");
  EXPECT_COMPLAINT(parse_memory_usage(""), DataError, "VmHWM");
}

}  // namespace
}  // namespace plimsoll
