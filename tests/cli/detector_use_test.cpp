// What is done with a trained detector: predict, its pictures, eval and its detections.
#include <nlohmann/json.hpp>

#include <cmath>
#include <map>
#include <set>

#include "data/codec/decode.h"
#include "draw/palette.h"
#include "draw/png.h"
#include "tests/cli/run_support.h"
#include "tests/support/shared_data.h"

namespace plimsoll {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

constexpr int kWidth = 96, kHeight = 64, kBoxSide = 24, kPictures = 12;

// Where the square of a picture is.
int left_of(int picture) { return 4 + picture * 29 % (kWidth - kBoxSide - 8); }
int top_of(int picture) { return 3 + picture * 17 % (kHeight - kBoxSide - 6); }
int image_id(int picture) { return 100 + 7 * picture; }

Picture decode_file(const std::filesystem::path& path) {
  const std::string bytes = content(path);
  Picture picture;
  Decoder().decode(std::as_bytes(std::span(bytes)), path.string(), {}, picture);
  return picture;
}

// Pictures of a red or a green square, their boxes as COCO JSON with ids that are not dense, and a
// detector that has learnt them.
class DetectorUse : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new TemporaryFolder;
    Json images = Json::array(), annotations = Json::array();
    for (int i = 0; i < kPictures; ++i) {
      std::string pixels;
      for (int y = 0; y < kHeight; ++y)
        for (int x = 0; x < kWidth; ++x) {
          const bool in = x >= left_of(i) && x < left_of(i) + kBoxSide && y >= top_of(i) &&
                          y < top_of(i) + kBoxSide;
          const char bright = '\x7F', dark = static_cast<char>(20 + (x * 7 + y * 3 + i) % 9);
          pixels += in && i % 2 == 0 ? bright : dark;
          pixels += in && i % 2 == 1 ? bright : dark;
          pixels += dark;
        }
      const std::string name = "p" + std::to_string(i) + ".png";
      folder_->put(
          "set/images/" + name,
          draw::encode_png(kWidth, kHeight, 3,
                           {reinterpret_cast<const std::uint8_t*>(pixels.data()), pixels.size()}));
      images.push_back(
          {{"id", image_id(i)}, {"file_name", name}, {"width", kWidth}, {"height", kHeight}});
      annotations.push_back({{"id", i + 1},
                             {"image_id", image_id(i)},
                             {"category_id", i % 2 == 0 ? 5 : 9},
                             {"iscrowd", 0},
                             {"area", kBoxSide * kBoxSide},
                             {"bbox", {left_of(i), top_of(i), kBoxSide, kBoxSide}}});
    }
    const Json categories = {{{"id", 5}, {"name", "red"}}, {{"id", 9}, {"name", "green"}}};
    folder_->put(
        "set/annotations/instances_all.json",
        Json{{"images", images}, {"annotations", annotations}, {"categories", categories}}.dump());
    trained_ =
        run_program("train " + data() +
                    " --model retinanet_mini --image 64x96 --batch 6 --steps 120 --epochs 60 "
                    "--optimizer adam --lr 1e-3 --val " +
                    data() + " --threads 2 --quiet --out " + run());
  }
  static void TearDownTestSuite() { delete std::exchange(folder_, nullptr); }
  void SetUp() override { ASSERT_EQ(trained_.code, 0) << trained_.output; }

  static std::string path(const std::string& name) { return (*folder_ / name).string(); }
  static std::string data() { return path("set"); }
  static std::string run() { return path("run"); }
  static std::string picture(int i) { return path("set/images/p" + std::to_string(i) + ".png"); }

  static TemporaryFolder* folder_;
  static Outcome trained_;
};
TemporaryFolder* DetectorUse::folder_ = nullptr;
Outcome DetectorUse::trained_;

TEST_F(DetectorUse, PredictFindsTheSquaresInPixelsOfThePicture) {
  const Outcome outcome =
      run_program("predict " + run() + " " + path("set/images") + " --json 2>/dev/null");
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  const auto list = Json::parse(outcome.output);
  ASSERT_EQ(list.size(), std::size_t{kPictures});
  EXPECT_EQ(list[0]["file"], picture(0));
  EXPECT_EQ(list[0]["width"], kWidth);
  EXPECT_EQ(list[0]["height"], kHeight);
  ASSERT_GE(list[0]["boxes"].size(), 1U);
  const auto& best = list[0]["boxes"][0];
  EXPECT_EQ(best["name"], "red");
  EXPECT_NEAR(best["x0"], left_of(0), 8);
  EXPECT_NEAR(best["y0"], top_of(0), 8);
  EXPECT_NEAR(best["x1"], left_of(0) + kBoxSide, 8);
  EXPECT_NEAR(best["y1"], top_of(0) + kBoxSide, 8);
  for (const auto& one : list)
    for (std::size_t b = 1; b < one["boxes"].size(); ++b)
      EXPECT_LE(one["boxes"][b]["score"], one["boxes"][b - 1]["score"]);
}

TEST_F(DetectorUse, TopAndScoreLimitWhatIsTold) {
  const Outcome csv = run_program("predict " + run() + " " + picture(1) + " --csv --top 1 --quiet");
  ASSERT_EQ(csv.code, 0) << csv.output;
  EXPECT_THAT(csv.output,
              HasSubstr("file,rank,class,score,x0,y0,x1,y1\n" + picture(1) + ",1,green,"));
  EXPECT_EQ(std::ranges::count(csv.output, '\n'), 2);
  const Outcome text = run_program("predict " + run() + " " + picture(1) + " --top 1 --score 0.1");
  EXPECT_THAT(text.output, HasSubstr("p1.png: 96x64, 1 box\n  green 0."));
  EXPECT_THAT(text.output, HasSubstr("memory: "));
  const Outcome none = run_program("predict " + run() + " " + picture(1) + " --score 1");
  EXPECT_THAT(none.output, HasSubstr("p1.png: 96x64, 0 boxes\n"));
  EXPECT_EQ(run_program("predict " + run() + " " + picture(1) + " --score 2").code, 2);
  EXPECT_EQ(run_program("predict " + run() + " " + picture(1) + " --logits").code, 2);
}

TEST_F(DetectorUse, PicturesHaveTheirSizeAndFramesInTheColourOfTheClass) {
  const Outcome outcome =
      run_program("predict " + run() + " " + path("set/images") + " --json --score 0.1 --top 1 " +
                  "--pictures " + path("drawn") + " 2>/dev/null");
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  const auto list = Json::parse(outcome.output);
  for (int i = 0; i < 2; ++i) {
    const Picture drawn = decode_file(path("drawn/p" + std::to_string(i) + ".png"));
    ASSERT_EQ(drawn.size(), (Size{kHeight, kWidth}));
    const auto& box = list.at(static_cast<std::size_t>(i)).at("boxes").at(0);
    const auto row = static_cast<std::int64_t>((double(box["y0"]) + double(box["y1"])) / 2);
    const auto column = static_cast<std::int64_t>(std::ceil(double(box["x1"]))) - 1;
    const std::uint8_t* pixel = drawn.row(row) + 3 * std::min<std::int64_t>(column, kWidth - 1);
    EXPECT_EQ((draw::Rgb{pixel[0], pixel[1], pixel[2]}), draw::class_colour(i)) << i;
  }
}

TEST_F(DetectorUse, PicturesAreNotWrittenOverTheOriginals) {
  const std::string before = content(picture(0));
  const Outcome outcome =
      run_program("predict " + run() + " " + picture(0) + " --pictures " + path("set/images"));
  EXPECT_EQ(outcome.code, 2);
  EXPECT_THAT(outcome.output, HasSubstr("--pictures"));
  EXPECT_EQ(content(picture(0)), before);
}

TEST_F(DetectorUse, PicturesOfOneNameDoNotReplaceEachOther) {
  std::filesystem::create_directories(path("other"));
  std::filesystem::copy_file(picture(1), path("other/p0.png"));
  ASSERT_EQ(run_program("predict " + run() + " " + picture(0) + " " + path("other/p0.png") +
                        " --pictures " + path("both"))
                .code,
            0);
  EXPECT_TRUE(std::filesystem::exists(path("both/p0.png")));
  EXPECT_TRUE(std::filesystem::exists(path("both/p0-2.png")));
}

TEST_F(DetectorUse, TurnedPhotographsAreDrawnUpright) {
  SHARED_DATA_OR_SKIP(exif, "odd-images/exif");
  for (const int orientation : {3, 6, 7}) {
    const std::string name = "Landscape_" + std::to_string(orientation);
    ASSERT_EQ(run_program("predict " + run() + " " + (exif / (name + ".jpg")).string() +
                          " --score 1 --pictures " + path("turned"))
                  .code,
              0);
    const Picture drawn = decode_file(path("turned/" + name + ".png"));
    const Picture upright = decode_file(exif / (name + ".jpg"));
    EXPECT_EQ(drawn.size(), decode_file(exif / "Landscape_1.jpg").size());
    // It may be sure of something even in a landscape; lines cover little of it.
    ASSERT_EQ(drawn.pixels.size(), upright.pixels.size());
    int same = 0;
    for (std::size_t i = 0; i < drawn.pixels.size(); ++i)
      same += drawn.pixels[i] == upright.pixels[i] ? 1 : 0;
    EXPECT_GE(same, 0.9 * static_cast<double>(drawn.pixels.size())) << name;
  }
}

TEST_F(DetectorUse, EvalTellsCocosNumbersAndWritesWhatWasFound) {
  const Outcome outcome =
      run_program("eval " + run() + " " + data() + " --json --detections " + path("found.json") +
                  " --picture " + path("curves.svg") + " 2>/dev/null");
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  const auto found = Json::parse(outcome.output);
  for (const char* key :
       {"map", "map50", "map75", "map_small", "map_medium", "map_large", "ar1", "ar10", "ar100",
        "ar_small", "ar_medium", "ar_large", "voc2007", "voc2012"})
    EXPECT_TRUE(found.contains(key)) << key;
  EXPECT_GT(found["map50"], 0.5);
  EXPECT_LE(found["map"], found["map50"]);
  EXPECT_EQ(found["map_large"], -1);
  ASSERT_EQ(found["per_class"].size(), 2U);
  for (const char* key : {"boxes", "ap", "ap50", "voc2007", "voc2012"})
    EXPECT_TRUE(found["per_class"][1].contains(key)) << key;
  EXPECT_THAT(content(path("curves.svg")), HasSubstr("green: AP50"));

  const auto list = Json::parse(content(path("found.json")));
  std::map<int, Json> best;
  for (const auto& one : list) {
    EXPECT_TRUE(one["category_id"] == 5 || one["category_id"] == 9);
    ASSERT_EQ(one["bbox"].size(), 4U);
    Json& so_far = best[one["image_id"]];
    if (so_far.is_null() || one["score"] > so_far["score"]) so_far = one;
  }
  for (const auto& [id, one] : best) EXPECT_EQ((id - 100) % 7, 0) << id;
  ASSERT_TRUE(best.contains(image_id(0)));
  EXPECT_EQ(best[image_id(0)]["category_id"], 5);
  EXPECT_NEAR(best[image_id(0)]["bbox"][0], left_of(0), 8);
}

TEST_F(DetectorUse, EvalTextShowsWhatADetectorIsJudgedBy) {
  const Outcome outcome = run_program("eval " + run() + " " + data());
  ASSERT_EQ(outcome.code, 0) << outcome.output;
  EXPECT_THAT(outcome.output, HasSubstr("12 images · mAP "));
  EXPECT_THAT(outcome.output, HasSubstr("average recall"));
  EXPECT_THAT(outcome.output, HasSubstr("VOC 2007 "));
}

TEST_F(DetectorUse, ARunHasPicturesOfItsBatchesWithBoxes) {
  const auto run_folder = std::filesystem::path(run());
  const Picture training = decode_file(run_folder / "train_batch0.png");
  const Picture validation = decode_file(run_folder / "val_batch0.png");
  const auto has = [](const Picture& picture, draw::Rgb colour) {
    for (std::int64_t i = 0; i < picture.height * picture.width; ++i) {
      const std::uint8_t* pixel = picture.pixels.data() + 3 * i;
      if (draw::Rgb{pixel[0], pixel[1], pixel[2]} == colour) return true;
    }
    return false;
  };
  for (const int label : {0, 1}) {
    EXPECT_TRUE(has(training, draw::class_colour(label)));
    EXPECT_TRUE(has(validation, draw::class_colour(label)));
  }
  // Truth and what was found of six pictures.
  EXPECT_GT(validation.width * validation.height, training.width * training.height);
}

TEST_F(DetectorUse, ClassifiersHaveNoBoxesToAskFor) {
  const ImageFolder images(2, 4);
  const std::string run = path("classes");
  ASSERT_EQ(run_program("train " + images.folder().path().string() +
                        " --model inception_mini --image 20 --batch 2 --steps 1 --val-split 0.25 "
                        "--quiet --out " +
                        run)
                .code,
            0);
  const std::string file = images.file(0, 0).string();
  EXPECT_EQ(run_program("predict " + run + " " + file + " --score 0.5").code, 2);
  EXPECT_EQ(run_program("predict " + run + " " + file + " --pictures " + path("x")).code, 2);
  EXPECT_EQ(run_program("eval " + run + " " + images.folder().path().string() + " --detections " +
                        path("x.json"))
                .code,
            2);
}

}  // namespace
}  // namespace plimsoll
