#include "base/file_system.h"

#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/vfs.h>

#include "tests/support/temporary_folder.h"

namespace plimsoll {
namespace {

bool is_tmpfs(const char* path) {
  struct statfs status {};
  return statfs(path, &status) == 0 && static_cast<unsigned long>(status.f_type) == TMPFS_MAGIC;
}

TEST(FileSystem, NamesTmpfsAlsoForFoldersThatAreNotThereYet) {
  if (!is_tmpfs("/dev/shm")) GTEST_SKIP() << "/dev/shm is no tmpfs here";
  EXPECT_EQ(memory_file_system("/dev/shm"), "tmpfs");
  EXPECT_EQ(memory_file_system("/dev/shm/not/there/yet"), "tmpfs");
}

TEST(FileSystem, NamesNothingForADisk) {
  const TemporaryFolder folder;
  if (is_tmpfs(folder.path().c_str())) GTEST_SKIP() << "temporary files are in memory here";
  EXPECT_EQ(memory_file_system(folder.path()), "");
  EXPECT_EQ(memory_file_system(folder / "a/b/c"), "");
}

}  // namespace
}  // namespace plimsoll
