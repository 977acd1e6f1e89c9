// What is done with trained weights: eval and predict; and finding a rate before.
#include <nlohmann/json.hpp>

#include "tests/cli/run_support.h"

namespace plimsoll {
namespace {

using testing::HasSubstr;
using Use = SmallRuns;

TEST_F(Use, EvalFindsWhatTheRunReported) {
  ASSERT_EQ(train("run", "--epochs 3 --val " + images_.folder().path().string() +
                             " --val-split 0 --monitor val_accuracy")
                .code,
            0);
  const auto report = nlohmann::json::parse(content(out("run") / "report.json"));
  const Outcome outcome =
      run_program("eval " + (out("run") / "weights/last.safetensors").string() + " " +
                  images_.folder().path().string() + " --json --batch 5 2>/dev/null");
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  const auto found = nlohmann::json::parse(outcome.output);
  EXPECT_NEAR(found["loss"], report["val_loss"], 1e-4);
  EXPECT_DOUBLE_EQ(found["accuracy"], report["val_accuracy"]);
  EXPECT_EQ(found["images"], 48);
  ASSERT_EQ(found["per_class"].size(), 3U);
  EXPECT_EQ(found["per_class"][1]["name"], "c1");
  EXPECT_EQ(found["per_class"][1]["images"], 16);
}

TEST_F(Use, PredictNamesClassesForFilesFoldersAndPatterns) {
  ASSERT_EQ(train("run", "--epochs 1").code, 0);
  const std::string folder = images_.folder().path().string();
  const Outcome outcome =
      run_program("predict " + out("run").string() + " " + folder + "/c0 '" + folder +
                  "/c1/0*.bmp' " + folder + "/c2/00.bmp --json --top 2 2>/dev/null");
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  const auto list = nlohmann::json::parse(outcome.output);
  ASSERT_EQ(list.size(), 16U + 10U + 1U);
  EXPECT_EQ(list[26]["file"], folder + "/c2/00.bmp");
  ASSERT_EQ(list[0]["classes"].size(), 2U);
  EXPECT_GE(list[0]["classes"][0]["p"], list[0]["classes"][1]["p"]);
  EXPECT_EQ(std::string(list[0]["classes"][0]["name"])[0], 'c');
}

TEST_F(Use, PredictGoesOnPastBadFilesNamesThemAndEndsWithCode1) {
  ASSERT_EQ(train("run", "--epochs 1").code, 0);
  std::ofstream(folder_ / "broken.jpg") << "no picture";
  const Outcome outcome =
      run_program("predict " + out("run").string() + " " + (folder_ / "broken.jpg").string() +
                  " /nowhere/x.png " + images_.file(0, 0).string() + " --csv");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.output, HasSubstr("broken.jpg: "));
  EXPECT_THAT(outcome.output, HasSubstr("/nowhere/x.png: "));
  EXPECT_THAT(outcome.output, HasSubstr("c0/00.bmp,1,c"));
}

TEST_F(Use, WeightsForDataWithMoreClassesAreRefused) {
  ASSERT_EQ(train("run", "--epochs 1").code, 0);
  const ImageFolder more(4, 2);
  const Outcome outcome =
      run_program("eval " + out("run").string() + " " + more.folder().path().string());
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.output, HasSubstr("c3"));
}

TEST_F(Use, FindLrSuggestsARateAndLeavesACurve) {
  const std::string words = "find-lr " + images_.folder().path().string() +
                            " --model inception_mini --image 20 --batch 6 --threads 1 --out " +
                            out("lr").string();
  const Outcome outcome = run_program(words + " --steps 60 --json 2>/dev/null");
  const auto found = nlohmann::json::parse(outcome.output);
  EXPECT_TRUE(found.contains("reason"));
  EXPECT_GT(found["curve"].size(), 20U);
  EXPECT_THAT(content(out("lr") / "curve.csv"), HasSubstr("rate,loss,smoothed\n1e-06,"));
  const Outcome grid = run_program(words + " --steps 20 --grid 1e-1,1e-3 --json 2>/dev/null");
  ASSERT_EQ(grid.code, 0) << grid.output;
  EXPECT_EQ(nlohmann::json::parse(grid.output)["curve"].size(), 2U);
  EXPECT_EQ(run_program(words + " --grid 0.1,zero").code, 2);
}

}  // namespace
}  // namespace plimsoll
