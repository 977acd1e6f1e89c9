// tools/pretrained: published weights by the machine's pip, taken only if they are those.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/program.h"
#include "tests/support/shared_data.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class Pretrained : public testing::Test {
 protected:
  // With a pip of ours that answers with `file` in a package.
  Outcome fetch(const std::string& name, const fs::path& file, const std::string& entry) const {
    const fs::path pip =
        folder_.put("bin/pip3",
                    "#!/usr/bin/env python3\nimport sys, zipfile\n"
                    "folder = sys.argv[sys.argv.index('--dest') + 1]\n"
                    "zipfile.ZipFile(folder + '/p-1-py3-none-any.whl', 'w').write('" +
                        file.string() + "', 'p/models/" + entry + "')\n");
    fs::permissions(pip, fs::perms::owner_all);
    return run_command(std::string(PLIMSOLL_TESTS_DIR) + "/../tools/pretrained " + name +
                       " --pip " + pip.string() + " --to " + got().string());
  }

  fs::path got() const { return (folder_ / "got").lexically_normal(); }

  const TemporaryFolder folder_;
};

TEST_F(Pretrained, ListsWhatThereIs) {
  const Outcome outcome = run_command(std::string(PLIMSOLL_TESTS_DIR) + "/../tools/pretrained");
  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.output, HasSubstr("efficientnet_lite0\n"));
  const Outcome unknown = run_command(std::string(PLIMSOLL_TESTS_DIR) + "/../tools/pretrained vgg");
  EXPECT_EQ(unknown.code, 1);
  EXPECT_THAT(unknown.output, HasSubstr("expected one of efficientnet_lite0"));
}

TEST_F(Pretrained, AnotherFileOfThatNameIsNotTaken) {
  const fs::path other = folder_.put("other.pth", "not these weights");
  const Outcome outcome = fetch("efficientnet_lite1", other, "efficientnet-lite1-77cc7160.pth");
  EXPECT_EQ(outcome.code, 1) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("expected 77cc7160d37b"));
  EXPECT_TRUE(fs::is_empty(got()));
}

TEST_F(Pretrained, PublishedWeightsAreTakenAndTheLineToTrainIsPrinted) {
  SHARED_DATA_OR_SKIP(file, "pretrained/efficientnet-lite0-57934424.pth");
  const Outcome outcome =
      fetch("efficientnet_lite0", fs::absolute(file), "efficientnet-lite0-57934424.pth");
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(outcome.output,
              HasSubstr("train photos/ --model efficientnet_lite0 --weights " + got().string()));
  EXPECT_TRUE(fs::exists(got() / "efficientnet-lite0-57934424.pth"));
}

}  // namespace
}  // namespace plimsoll
