// Detectors from a folder with boxes to average precision: they learn, fit, and can be killed.
#include <random>

#include "tests/cli/fitted_run.h"
#include "tests/cli/run_support.h"
#include "tests/support/box_folder.h"

namespace plimsoll {
namespace {

using testing::HasSubstr;
using testing::Not;

class DetectionRuns : public testing::Test {
 protected:
  std::filesystem::path out(const std::string& name) const { return folder_.path() / name; }
  // 18 pictures are trained on, 6 validated on.
  std::string network() const {
    return data_.path().string() +
           " --model retinanet_mini --image 64x96 --batch 4 --threads 1 --seed 3";
  }
  std::string words(const std::string& name, const std::string& more) const {
    return "train " + network() + " --quiet --out " + out(name).string() + " " + more;
  }
  Outcome train(const std::string& name, const std::string& more,
                const std::string& before = "") const {
    return run_program(words(name, more), before);
  }
  nlohmann::json report(const std::string& name) const {
    return nlohmann::json::parse(content(out(name) / "report.json"));
  }

  const BoxFolder data_{24};
  const TemporaryFolder folder_;
};

// results.csv without times and memory.
std::string lasting_numbers(const std::filesystem::path& run) {
  const std::set<std::string> passing{"time", "images_per_second", "data_wait_percent",
                                      "memory_bytes"};
  std::istringstream lines(content(run / "results.csv"));
  std::vector<std::string> names;
  std::string text;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream cells(line);
    std::vector<std::string> row;
    for (std::string cell; std::getline(cells, cell, ',');) row.push_back(cell);
    if (names.empty()) names = row;
    for (std::size_t i = 0; i < row.size(); ++i)
      if (!passing.contains(names[i])) text += row[i] + ",";
    text += "\n";
  }
  return text;
}

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
  const auto plan = json_in(run_program("plan " + network() + " --json").output);
  const std::int64_t floor = plan["floor_bytes"];
  ASSERT_EQ(train("unlimited", "--epochs 2 --memory unlimited").code, 0);
  EXPECT_EQ(report("unlimited")["predicted_bytes"], plan["unlimited_bytes"]);
  for (const double times : {1.0, 1.25}) {
    const auto bytes = static_cast<std::int64_t>(static_cast<double>(floor) * times);
    const std::string name = "at" + std::to_string(bytes);
    run_fitted(words(name, "--epochs 2"), bytes);
    expect_exact(report(name), name);
    EXPECT_TRUE(last_weights(out(name)) == last_weights(out("unlimited"))) << name;
    EXPECT_EQ(lasting_numbers(out(name)), lasting_numbers(out("unlimited"))) << name;
  }
  const Outcome refused = train("less", "--epochs 2 --memory " + std::to_string(floor - 1));
  EXPECT_EQ(refused.code, 3) << refused.output;
}

TEST_F(DetectionRuns, KilledAtAnyTimeGoOnToTheSameBytes) {
  const std::string settings = "--epochs 6 --save-every 3";
  ASSERT_EQ(train("whole", settings).code, 0);
  const double seconds = report("whole")["seconds"];
  std::mt19937 random(5);
  int kills = 0;
  for (int run = 0; kills < 6; ++run) {
    const std::string name = "run" + std::to_string(run);
    for (int code = -1; code != 0; kills += code == 0 ? 0 : 1) {
      const double share = 0.001 * static_cast<double>(random() % 1000);
      code = train(name, settings, "timeout -s KILL " + std::to_string(0.3 + share * seconds) + " ")
                 .code;
      expect_sound_checkpoint(out(name));
    }
    EXPECT_TRUE(last_weights(out(name)) == last_weights(out("whole"))) << name;
    EXPECT_EQ(lasting_numbers(out(name)), lasting_numbers(out("whole"))) << name;
  }
}

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
