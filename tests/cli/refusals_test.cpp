// Bad requests get the three-part error and the right exit code, never an abort.
#include <gtest/gtest.h>
#include <fstream>
#include <string>

#include "tests/cli/program.h"
#include "tests/support/sanitized.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll {
namespace {

void expect_refusal(const std::string& arguments, int code, const std::string& text) {
  const Outcome outcome = run_program(arguments);
  EXPECT_EQ(outcome.code, code) << arguments << "\n" << outcome.output;
  EXPECT_NE(outcome.output.find(text), std::string::npos) << arguments << "\n" << outcome.output;
  EXPECT_EQ(outcome.output.find("this is a bug"), std::string::npos) << arguments;
}

TEST(Refusals, AnUnknownModelIsOfferedTheNearestName) {
  expect_refusal("summary --model incepton_v3", 2, "did you mean 'inception_v3'?");
}

TEST(Refusals, ATooSmallImageNamesTheLayerWhereItVanishes) {
  expect_refusal("summary --model inception_v3 --image 40", 2, "conv2d 'conv2d_26'");
  expect_refusal("bench --model vgg16 --image 16", 2, "max_pool 'block5_pool'");
}

TEST(Refusals, NumbersOutOfRangeNameTheOption) {
  expect_refusal("train fashion-mnist --batch 0", 2, "--batch: 0; expected 1 to");
  expect_refusal("train fashion-mnist --batch -5", 2, "--batch");
  expect_refusal("summary --classes 1000000000", 2, "--classes: 1000000000; expected 1 to");
  expect_refusal("bench --threads 0", 2, "--threads: 0");
  expect_refusal("bench --threads 9999999", 2, "--threads");
  expect_refusal("train fashion-mnist --lr -1", 2, "--lr");
  expect_refusal("train fashion-mnist --epochs 0", 2, "--epochs");
  expect_refusal("train fashion-mnist --momentum 1", 2, "--momentum");
  expect_refusal("train fashion-mnist --classes 3", 2, "--classes");
  expect_refusal("summary --image 0x5", 2, "--image");
  expect_refusal("summary --image 5x6x7", 2, "--image");
  expect_refusal("summary --image 99999999999999999999", 2, "--image");
  expect_refusal("train fashion-mnist --lr abc", 2, "--lr");
}

TEST(Refusals, UnknownWordsAreOfferedTheNearest) {
  expect_refusal("trian fashion-mnist", 2, "did you mean 'train'?");
  expect_refusal("train fashion-mnist --optimizer adamm", 2, "did you mean 'adam'?");
  expect_refusal("train fashion-mnist --loss mae", 2, "--loss");
  expect_refusal("train fashion-mnist --bach 3", 2, "--bach");
  expect_refusal("train", 2, "required");
  expect_refusal("train no-such-data", 1, "there is no such file or folder");
}

TEST(Refusals, AConfigurationNamesTheUnknownKey) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "run.toml").string();
  std::ofstream(path) << "model = \"resnet20\"\nbach = 3\n";
  expect_refusal("summary --config " + path, 2, "did you mean 'batch'?");
  std::ofstream(path) << "model = \n";
  expect_refusal("summary --config " + path, 2, "run.toml:1");
  expect_refusal("summary --config /no/such/file.toml", 2, "/no/such/file.toml");
}

TEST(Refusals, AnOutputThatCannotBeWrittenIsNamed) {
  expect_refusal("train fashion-mnist --steps 1 --out /proc/nowhere", 1, "/proc/nowhere");
}

TEST(Commands, ConfigurationIsReadAndTheCommandLineWins) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "run.toml").string();
  std::ofstream(path) << "model = \"resnet20\"\nbatch = 3\njson = true\n";
  const Outcome outcome = run_program("summary --batch 5 --config " + path);
  EXPECT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_NE(outcome.output.find("\"model\": \"resnet20\""), std::string::npos) << outcome.output;
  EXPECT_NE(outcome.output.find("\"batch\": 5"), std::string::npos) << outcome.output;
}

TEST(Commands, HelpAndVersionSucceed) {
  EXPECT_EQ(run_program("--version").code, 0);
  EXPECT_EQ(run_program("help train").code, 0);
  EXPECT_EQ(run_program("").code, 0);
}

TEST(Refusals, NumbersThatCannotBeHeldAreNotCutToFit) {
  expect_refusal("train fashion-mnist --epochs 99999999999999999999", 2,
                 "--epochs: 99999999999999999999; expected a number below 2^63");
  expect_refusal("train fashion-mnist --seed 18446744073709551616", 2,
                 "--seed: 18446744073709551616");
  expect_refusal("train fashion-mnist --epochs 9000000000000000000", 2, "--epochs");
}

TEST(Refusals, AConfigurationThatIsNoFileIsRefused) {
  const TemporaryFolder folder;
  expect_refusal("summary --config " + folder.path().string(), 2, "is a folder");
  expect_refusal("summary --config /dev/zero", 2, "is not a regular file");
  std::string key = "a";
  for (int i = 0; i < 50'000; ++i) key += ".a";
  folder.put("deep.toml", key + " = 1\n");
  expect_refusal("summary --config " + (folder.path() / "deep.toml").string(), 2,
                 "deep.toml:1: a key of more than 64 parts; expected a long option");
  folder.put("inside.toml", "model = { " + key + " = 1 }\n");
  expect_refusal("summary --config " + (folder.path() / "inside.toml").string(), 2, "parts");
}

TEST(Refusals, PathsThatCannotBeUsedSayWhatWasExpected) {
  expect_refusal("train fashion-mnist --weights /nonexistent", 1,
                 "/nonexistent: cannot open: No such file or directory; expected");
  expect_refusal("train fashion-mnist --steps 1 --threads 1 --quiet --out /proc/x", 1,
                 "/proc/x: cannot create the folder: No such file or directory; expected");
}

TEST(Refusals, AStackThatIsTooSmallIsNamed) {
  const Outcome outcome = run_program("summary", "ulimit -s 64 && ");
  EXPECT_EQ(outcome.code, 1) << outcome.output;
  EXPECT_NE(outcome.output.find("`ulimit -s`: 64 KiB of stack; expected at least 1024"),
            std::string::npos)
      << outcome.output;
}

// `ulimit -d` lets no heap grow: in the middle of planning, or when the arena is mapped.
TEST(Refusals, ALimitOfDataEndsInARefusalAndInNoCrash) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer maps more than any limit";
  const TemporaryFolder folder;
  for (const char* kib : {"3000", "10000", "40000", "80000"}) {
    const Outcome outcome = run_program(
        "train fashion-mnist --batch 8 --steps 1 --threads 1 --quiet "
        "--memory unlimited --out " +
            (folder / "run").string(),
        std::string("ulimit -d ") + kib + " && ");
    EXPECT_EQ(outcome.code, 3) << kib << ": " << outcome.output;
    EXPECT_NE(outcome.output.find("plimsoll: "), std::string::npos) << kib;
  }
}

}  // namespace
}  // namespace plimsoll
