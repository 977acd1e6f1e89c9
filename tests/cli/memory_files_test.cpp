// Files that are memory: counted, or refused by name.
#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/file_system.h"
#include "tests/cli/program.h"
#include "tests/support/memory_group.h"

namespace plimsoll {
namespace {

constexpr const char* kWords = "fashion-mnist --model inception_mini --batch 64 ";

// A folder on tmpfs; gone at the end.
class FolderInMemory {
 public:
  FolderInMemory() {
    if (memory_file_system("/dev/shm") == "tmpfs" && ::mkdtemp(name_.data()) != nullptr)
      path_ = name_;
  }
  ~FolderInMemory() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  FolderInMemory(const FolderInMemory&) = delete;
  FolderInMemory& operator=(const FolderInMemory&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::string name_ = "/dev/shm/plimsoll-XXXXXX";
  std::filesystem::path path_;
};

TEST(MemoryFiles, AreNoPlaceToSpillTo) {
  const FolderInMemory folder;
  if (folder.path().empty()) GTEST_SKIP() << "no tmpfs at /dev/shm";
  const Outcome outcome = run_program("plan " + std::string(kWords) + "--memory 1GiB --spill " +
                                      folder.path().string());
  EXPECT_EQ(outcome.code, 1) << outcome.output;
  EXPECT_NE(outcome.output.find("on tmpfs, whose files are memory"), std::string::npos)
      << outcome.output;
}

TEST(MemoryFiles, OfARunAreInItsBudget) {
  const FolderInMemory folder;
  if (folder.path().empty()) GTEST_SKIP() << "no tmpfs at /dev/shm";
  const std::string words = "train " + std::string(kWords) +
                            "--steps 6 --save-every 1 --keep 3 --fresh --quiet --out " +
                            (folder.path() / "run").string();
  const Outcome refused = run_program(words + " --memory 1MiB");
  EXPECT_EQ(refused.code, 3) << refused.output;
  const std::size_t at = refused.output.find("--memory ", refused.output.find("hint:"));
  ASSERT_NE(at, std::string::npos) << refused.output;
  const std::int64_t budget = std::stoll(refused.output.substr(at + 9));
  const MemoryGroup group(budget);
  if (!group.exists()) std::puts("no writable control group: only the ledger is looked at");
  const Outcome done = run_program(words + " --memory " + std::to_string(budget), group.enter());
  EXPECT_EQ(done.code, 0) << done.output;
}

}  // namespace
}  // namespace plimsoll
