#include "base/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <memory>

#include "tests/support/complaints.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

TEST(Files, ReadsAWholeFile) {
  const TemporaryFolder folder;
  const std::string bytes("a\0b\nc", 5);
  EXPECT_EQ(read_file(folder.put("x", bytes), 5_B), bytes);
  EXPECT_EQ(read_file(folder.put("empty", ""), 0_B), "");
}

TEST(Files, RefusesToReadMoreThanTheLimit) {
  const TemporaryFolder folder;
  EXPECT_COMPLAINT(read_file(folder.put("x", "123456"), 5_B), DataError, "6 B");
}

TEST(Files, RefusesWhatIsNotAFile) {
  const TemporaryFolder folder;
  EXPECT_COMPLAINT(read_file(folder / "absent", 1_KiB), DataError, "absent");
  EXPECT_COMPLAINT(read_file(folder.path(), 1_KiB), DataError, "is a folder");
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_COMPLAINT(read_file(folder / "pipe", 1_KiB), DataError, "not a regular file");
  EXPECT_COMPLAINT(read_file("/dev/zero", 1_KiB), DataError, "not a regular file");
}

TEST(Files, SaysWhereAFileEndedTooEarly) {
  const TemporaryFolder folder;
  const InputFile file = open_input(folder.put("x", "12345"));
  std::byte out[4];
  EXPECT_COMPLAINT(file.read_at(3, out), DataError, "ends at byte 5; expected 2 more bytes");
}

TEST(AtomicFile, AppearsOnlyWhenCommitted) {
  const TemporaryFolder folder;
  const fs::path path = folder.put("weights", "old");
  {
    AtomicFile file(path);
    file.write("new and longer");
    EXPECT_EQ(read_file(path, 1_KiB), "old");
    file.commit();
  }
  EXPECT_EQ(read_file(path, 1_KiB), "new and longer");
  EXPECT_FALSE(fs::exists(folder / "weights.tmp"));
}

TEST(AtomicFile, LeavesNothingWhenAbandoned) {
  const TemporaryFolder folder;
  const fs::path path = folder.put("weights", "old");
  {
    AtomicFile file(path);
    file.write("half");
  }
  EXPECT_EQ(read_file(path, 1_KiB), "old");
  EXPECT_TRUE(fs::exists(path));
  EXPECT_FALSE(fs::exists(folder / "weights.tmp"));
}

TEST(AtomicFile, TakesOverWhatAKilledWriterLeft) {
  const TemporaryFolder folder;
  const fs::path path = folder.put("weights", "old");
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    AtomicFile file(path);
    file.write("a long text of which nothing may remain");
    ::raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(read_file(path, 1_KiB), "old");
  ASSERT_TRUE(fs::exists(folder / "weights.tmp"));
  write_file(path, "new");
  EXPECT_EQ(read_file(path, 1_KiB), "new");
  EXPECT_FALSE(fs::exists(folder / "weights.tmp"));
}

TEST(AtomicFile, HasOneWriterAtATime) {
  const TemporaryFolder folder;
  auto first = std::make_unique<AtomicFile>(folder / "weights");
  EXPECT_COMPLAINT(AtomicFile(folder / "weights"), DataError, "another process");
  first.reset();
  EXPECT_NO_THROW(AtomicFile(folder / "weights"));
}

TEST(AtomicFile, NamesThePathAndTheReasonOfAFailure) {
  const TemporaryFolder folder;
  EXPECT_COMPLAINT(AtomicFile(folder / "absent/weights"), DataError, "No such file or directory");
  EXPECT_COMPLAINT(write_file("/dev/full/x", "x"), DataError, "/dev/full/x");
}

TEST(AtomicFile, RefusesToReplaceAFolder) {
  const TemporaryFolder folder;
  make_directories(folder / "weights/inside");
  EXPECT_COMPLAINT(write_file(folder / "weights", "x"), DataError, "weights");
  EXPECT_TRUE(fs::is_directory(folder / "weights/inside"));
  EXPECT_FALSE(fs::exists(folder / "weights.tmp"));
}

TEST(Files, MakesFoldersThatMayExist) {
  const TemporaryFolder folder;
  make_directories(folder / "a/b/c");
  make_directories(folder / "a/b/c");
  EXPECT_TRUE(fs::is_directory(folder / "a/b/c"));
  folder.put("file", "");
  EXPECT_COMPLAINT(make_directories(folder / "file"), DataError, "file");
  EXPECT_COMPLAINT(make_directories(folder / "file/below"), DataError, "file/below");
}

TEST(Files, NumbersRunsThatHaveTheSameName) {
  const TemporaryFolder folder;
  EXPECT_EQ(make_unique_directory(folder / "runs", "xception"), folder / "runs/xception");
  EXPECT_EQ(make_unique_directory(folder / "runs", "xception"), folder / "runs/xception2");
  EXPECT_EQ(make_unique_directory(folder / "runs", "xception"), folder / "runs/xception3");
}

}  // namespace
}  // namespace plimsoll
