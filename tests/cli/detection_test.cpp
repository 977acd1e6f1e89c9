// Detectors from a folder with boxes to average precision: they learn, fit, and can be killed.
#include "tests/cli/detector_runs.h"

namespace plimsoll {
namespace {

using testing::HasSubstr;
using testing::Not;

class DetectionRuns : public DetectorRuns {
 protected:
  DetectionRuns() : DetectorRuns("retinanet_mini") {}
};

TEST_F(DetectionRuns, FindWhatTheyWereShown) {
  const Outcome outcome = train("run", "--epochs 60 --augment none");
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  const auto found = json_in(run_program("eval " + out("run/weights/last.safetensors").string() +
                                         " " + data_.path().string() + " --part train --json")
                                 .output);
  EXPECT_GT(found["map50"], 0.9) << found.dump();
  EXPECT_EQ(found["per_class"].size(), 2U);
  EXPECT_GT(report("run")["val_map50"], 0.05) << report("run").dump();
  EXPECT_THAT(content(out("run") / "results.csv"),
              HasSubstr("loss,val_loss,lr,images_per_second,data_wait_percent,memory_bytes,"
                        "cls_loss,box_loss,val_map,val_map50"));
  EXPECT_THAT(content(out("run") / "log.txt"), HasSubstr("anchors from 16 px reach dark"));
}

TEST_F(DetectionRuns, FitInExactlyTheirBytesWithTheSameWeightsAtEveryBudget) {
  expect_same_at_every_budget();
}

TEST_F(DetectionRuns, TenThousandBoxesInOnePictureAreTheirBytesAndNoMore) {
  expect_a_crowd_to_fit();
}

TEST_F(DetectionRuns, KilledAtAnyTimeGoOnToTheSameBytes) { expect_kills_change_nothing(6); }

TEST_F(DetectionRuns, PicturesWithoutBoxesAreBackgroundAndBadBoxesAreLeftOut) {
  data_.annotate(1, BoxFolder::object("light", 40, 40, 20, 20) +
                        BoxFolder::object("light", 200, 200, 300, 300) +
                        BoxFolder::object("dark", 5, 5, 25, 25));
  const Outcome outcome = train("run", "--steps 2");
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("2 cannot be used (empty, inverted or outside)"));
  EXPECT_THAT(outcome.output, HasSubstr("6 pictures without boxes are trained on as background"));
}

TEST_F(DetectionRuns, DataWithoutAnyBoxIsRefused) {
  for (int i = 0; i < 24; ++i) data_.annotate(i, "");
  const Outcome outcome = train("run", "--steps 2");
  EXPECT_EQ(outcome.code, 2) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("without a box that can be trained on"));
}

TEST_F(DetectionRuns, ARateThatIsTooHighEndsWithFourAndNamesTheLayer) {
  const Outcome outcome = train("run", "--epochs 20 --optimizer sgd --lr 1000 --warmup 0");
  EXPECT_EQ(outcome.code, 4) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("layer")) << outcome.output;
}

TEST_F(DetectionRuns, NetworksAndDataThatDoNotFitEachOtherAreRefused) {
  EXPECT_THAT(
      run_program("train " + data_.path().string() + " --model inception_mini --steps 1").output,
      HasSubstr("has boxes, and inception_mini tells classes"));
  const ImageFolder classes(2, 3);
  EXPECT_THAT(
      run_program("train " + classes.folder().path().string() + " --model retinanet_mini --steps 1")
          .output,
      HasSubstr("has one class per picture, and retinanet_mini finds boxes"));
  EXPECT_THAT(train("run", "--image 50x70 --steps 1").output, HasSubstr("multiples of 32"));
  EXPECT_THAT(train("run", "--anchors many --steps 1").output, HasSubstr("--anchors: 'many'"));
  EXPECT_THAT(train("run", "--classes 16385 --steps 1").output,
              HasSubstr("--classes: 16385; expected 1 to 16384"));
  EXPECT_THAT(train("run", "--augment rotation_range=20 --steps 1").output,
              HasSubstr("--augment: rotation_range=20, which boxes do not follow"));
  for (const char* option : {"--label-smoothing 0.1", "--class-weights balanced", "--loss mse"})
    EXPECT_THAT(train("run", std::string(option) + " --steps 1").output,
                HasSubstr("with retinanet_mini; expected none with a network that finds boxes"));
  EXPECT_FALSE(std::filesystem::exists(out("run"))) << "nothing was begun";
}

TEST_F(DetectionRuns, TheDatasShapeAndAnchorsThatReachItCanBeLeftToTheProgram) {
  const Outcome outcome = train("run", "--image auto --anchors auto --steps 1");
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(content(out("run") / "args.toml"), HasSubstr("image = \"192x256\""));
  EXPECT_THAT(outcome.output, HasSubstr("dark 100 %, light 100 % of the boxes"));
  EXPECT_THAT(outcome.output, Not(HasSubstr("missed for good")));
}

}  // namespace
}  // namespace plimsoll
