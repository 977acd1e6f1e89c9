// The cache of plans is a convenience: whatever is in its place, a command does what it would
// without.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "base/random.h"
#include "tests/cli/program.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll {
namespace {

constexpr const char* kPlan =
    "plan --model resnet20 --batch 4 --threads 1 --memory unlimited --json";

Outcome plan_with(const std::filesystem::path& cache, const std::string& before = "") {
  return run_program(kPlan, before + "env XDG_CACHE_HOME=" + cache.string() + " ");
}

TEST(PlanCache, OneThatBelongsToAnotherUserIsPassedOver) {
  if (::getuid() != 0) GTEST_SKIP() << "only root can become somebody else";
  const TemporaryFolder folder;
  const Outcome expected = plan_with(folder.path());
  ASSERT_EQ(expected.code, 0) << expected.output;
  std::filesystem::permissions(folder.path(), std::filesystem::perms::all);
  std::filesystem::permissions(folder.path() / "plimsoll", std::filesystem::perms::owner_all);
  const Outcome other = plan_with(folder.path(), "setpriv --reuid 65534 --clear-groups ");
  EXPECT_EQ(other.code, 0) << other.output;
  EXPECT_EQ(other.output, expected.output);
}

TEST(PlanCache, AForgedOneWithTheRightChecksumIsMadeAnew) {
  const TemporaryFolder folder;
  const Outcome expected = plan_with(folder.path());
  ASSERT_EQ(expected.code, 0) << expected.output;
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path() / "plimsoll")) {
    const std::string good = content(entry.path());
    std::string text = good.substr(0, good.rfind("end "));
    text = text.substr(0, text.rfind(' ')) + " 0\n";  // the last block lies over another
    std::ofstream(entry.path()) << text << "end " << fnv1a64(text) << "\n";
    const Outcome again = plan_with(folder.path());
    EXPECT_EQ(again.code, 0) << again.output;
    EXPECT_EQ(again.output, expected.output);
    EXPECT_EQ(content(entry.path()), good);
    ++files;
  }
  EXPECT_GT(files, 0);
}

}  // namespace
}  // namespace plimsoll
