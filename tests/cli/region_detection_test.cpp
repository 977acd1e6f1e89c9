// Detectors of two stages from a folder with boxes to pictures: they learn, fit, can be killed, and
// are used as those of one stage.
#include "tests/cli/detector_runs.h"

namespace plimsoll {
namespace {

using testing::HasSubstr;

class RegionRuns : public DetectorRuns {
 protected:
  RegionRuns() : DetectorRuns("fasterrcnn_mini") {}
};

TEST_F(RegionRuns, FindWhatTheyWereShownAndAreUsedAsOthers) {
  const Outcome outcome = train("run", "--epochs 60 --augment none");
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  const std::string run = out("run").string(), last = run + "/weights/last.safetensors";
  const auto found = json_in(run_program("eval " + last + " " + data_.path().string() +
                                         " --part train --json --batch 4 --detections " +
                                         out("found.json").string())
                                 .output);
  EXPECT_GT(found["map50"], 0.9) << found.dump();
  EXPECT_EQ(found["per_class"].size(), 2U);
  EXPECT_GT(nlohmann::json::parse(content(out("found.json"))).size(), 10U);
  EXPECT_GT(report("run")["val_map50"], 0.05) << report("run").dump();
  EXPECT_THAT(content(out("run") / "results.csv"),
              HasSubstr("loss,val_loss,lr,images_per_second,data_wait_percent,memory_bytes,"
                        "cls_loss,box_loss,val_map,val_map50"));
  EXPECT_THAT(content(out("run") / "log.txt"), HasSubstr("anchors from 16 px reach dark"));
  for (const char* picture : {"train_batch0.png", "val_batch0.png"})
    EXPECT_TRUE(std::filesystem::exists(out("run") / picture)) << picture;

  const Outcome told =
      run_program("predict " + last + " " + data_.picture(2).string() +
                  " --json --score 0.5 --pictures " + out("drawn").string() + " 2>/dev/null");
  ASSERT_EQ(told.code, 0) << told.output;
  EXPECT_EQ(nlohmann::json::parse(told.output)[0]["boxes"].size(), 2U) << told.output;
  EXPECT_TRUE(std::filesystem::exists(out("drawn") / "002.png"));

  // In torchvision's words and back: the same numbers.
  ASSERT_EQ(run_program("export " + last + " --to " + out("torch.safetensors").string()).code, 0);
  const auto again = json_in(run_program("eval " + out("torch.safetensors").string() + " " +
                                         data_.path().string() +
                                         " --part train --json --model fasterrcnn_mini "
                                         "--image 64x96 --normalise tf --batch 4")
                                 .output);
  EXPECT_EQ(again["map"], found["map"]);
  EXPECT_EQ(again["loss"], found["loss"]);
  const Outcome onnx = run_program("export " + last + " --to " + out("network.onnx").string());
  EXPECT_EQ(onnx.code, 2) << onnx.output;
  EXPECT_THAT(onnx.output, HasSubstr("a detector of two stages"));
  const Outcome keras = run_program("export " + last + " --to " + out("network.keras").string());
  EXPECT_EQ(keras.code, 2) << keras.output;
}

TEST_F(RegionRuns, FitInExactlyTheirBytesWithTheSameWeightsAtEveryBudget) {
  expect_same_at_every_budget();
}

TEST_F(RegionRuns, TenThousandBoxesInOnePictureAreTheirBytesAndNoMore) { expect_a_crowd_to_fit(); }

TEST_F(RegionRuns, KilledAtAnyTimeGoOnToTheSameBytes) { expect_kills_change_nothing(4); }

// Picture for picture the same draws, whatever is around it.
TEST_F(RegionRuns, AreEvaluatedTheSameAtAnyTime) {
  ASSERT_EQ(train("run", "--steps 8").code, 0);
  const std::string words = "eval " + out("run").string() + " " + data_.path().string() +
                            " --part train --json --threads 1 --batch 9";
  const auto first = json_in(run_program(words).output);
  EXPECT_GT(first["loss"], 0);
  EXPECT_EQ(first["loss"], json_in(run_program(words).output)["loss"]);
}

TEST_F(RegionRuns, PartsOfABatchAreNotTheWholeAndTheLogSaysSo) {
  const Outcome outcome = train("run", "--steps 2 --accumulate 2");
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(run_program("plan " + network() + " --accumulate 2").output,
              HasSubstr("and so do the losses, which are means over what is drawn"));
}

TEST_F(RegionRuns, ARateThatIsTooHighEndsWithFourAndNamesTheLayer) {
  const Outcome outcome = train("run", "--epochs 20 --optimizer sgd --lr 1000 --warmup 0");
  EXPECT_EQ(outcome.code, 4) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("layer")) << outcome.output;
}

TEST_F(RegionRuns, WhatTheyCannotHaveIsRefused) {
  EXPECT_THAT(train("run", "--image 50x70 --steps 1").output, HasSubstr("multiples of 32"));
  EXPECT_THAT(train("run", "--augment rotation_range=20 --steps 1").output,
              HasSubstr("--augment: rotation_range=20, which boxes do not follow"));
  EXPECT_THAT(train("run", "--label-smoothing 0.1 --steps 1").output,
              HasSubstr("with fasterrcnn_mini; expected none with a network that finds boxes"));
  const ImageFolder classes(2, 3);
  EXPECT_THAT(run_program("train " + classes.folder().path().string() +
                          " --model fasterrcnn_mini --steps 1")
                  .output,
              HasSubstr("has one class per picture, and fasterrcnn_mini finds boxes"));
  EXPECT_FALSE(std::filesystem::exists(out("run"))) << "nothing was begun";
}

TEST_F(RegionRuns, TheDatasShapeAndAnchorsThatReachItCanBeLeftToTheProgram) {
  const Outcome outcome = train("run", "--image auto --anchors auto --steps 1");
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("dark 100 %, light 100 % of the boxes"));
  const Outcome frozen = train("frozen", "--freeze body --steps 1");
  EXPECT_EQ(frozen.code, 0) << frozen.output;
}

}  // namespace
}  // namespace plimsoll
