// A hint is a promise: the command that it names does what it says.
#include <gtest/gtest.h>

#include "tests/cli/hinted_runs.h"

namespace plimsoll {
namespace {

TEST(Hints, AreKeptByTheCommandsTheyName) {
  std::mt19937 chance(7);
  EXPECT_GE(expect_hints_are_kept(chance, "resnet20"), 3);
}

// The plan that is carried over from batch 32 is smaller than the one the program finds.
TEST(Hints, OfABatchAreKeptWhereAPlanOfItsOwnIsLarger) {
  const ImageFolder images(2, 20);
  const std::string words =
      images.folder().path().string() + " --model googlenet --batch 32 --memory 297444982 ";
  int batches = 0;
  const nlohmann::json refused = planned(words, 3);
  for (const nlohmann::json& lever : refused["levers"]) {
    const std::string option = lever["option"];
    if (!option.starts_with("--batch ")) continue;
    ++batches;
    EXPECT_EQ(planned(words + option, 0)["floor_bytes"], lever["floor_bytes"]) << option;
  }
  EXPECT_EQ(batches, 1);
}

TEST(Hints, OfARunThatReadsLargePicturesAreAboutPictures) {
  const TemporaryFolder folder;
  for (const char* name : {"a/1.bmp", "a/2.bmp", "b/1.bmp", "b/2.bmp"})
    folder.put(name, bmp_image(5000, 4000, 1));
  const std::string words =
      folder.path().string() + " --model resnet20 --image 32 --batch 2 --threads 2 ";
  const auto floor = planned(words + "--memory unlimited", 0)["floor_bytes"].get<std::int64_t>();
  const Outcome refused =
      run_program("train " + words + "--memory " + std::to_string(floor - (1 << 20)));
  EXPECT_EQ(refused.code, 3) << refused.output;
  EXPECT_NE(refused.output.find("reading data takes the most"), std::string::npos)
      << refused.output;
  EXPECT_NE(refused.output.find("smaller pictures"), std::string::npos) << refused.output;
  EXPECT_EQ(refused.output.find("BatchNorm"), std::string::npos) << refused.output;
}

}  // namespace
}  // namespace plimsoll
