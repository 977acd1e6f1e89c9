// COCO's twelve numbers against pycocotools and VOC's against the rule of its development kit, on
// 200 sets (tools/golden/make_average_precision.py); the memory it takes; the order of equals.
#include "boxes/average_precision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/random.h"
#include "tests/support/allocation_counter.h"
#include "tests/support/memory_group.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll::boxes {
namespace {

struct Picture {
  std::vector<TruthBox> truths;
  std::vector<FoundBox> found;
};
struct Set {
  std::int64_t classes = 1;
  std::vector<Picture> pictures;
};

class Draws {
 public:
  explicit Draws(const std::string& name) : hash_(fnv1a64(name)) {}
  int pick(int count) {
    const std::uint64_t bits = splitmix64(hash_ + ++next_ * 0x9E3779B97F4A7C15ULL) >> 40;
    return static_cast<int>(bits % static_cast<std::uint64_t>(count));
  }

 private:
  std::uint64_t hash_;
  std::uint64_t next_ = 0;
};

// As make_average_precision.py makes it.
Set make_set(int number) {
  Draws d("detections/" + std::to_string(number));
  const int classes = 1 + d.pick(4);
  const double unit = number % 2 == 0 ? 4.0 : 10.0;
  constexpr int kScores[] = {4, 32, 1024};
  const int scores = kScores[d.pick(3)];
  const auto side = [&](int kind) {
    return kind == 0 ? 32.0 : kind == 1 ? 96.0 : (1 + d.pick(1500)) / unit;
  };
  Set set{.classes = classes, .pictures = {}};
  const int pictures = 1 + d.pick(6);
  for (int i = 0; i < pictures; ++i) {
    Picture picture;
    for (int n = d.pick(5) == 0 ? 0 : 1 + d.pick(14); n > 0; --n) {
      TruthBox truth;
      const int kind = d.pick(4);
      truth.width = side(kind);
      truth.height = side(kind);
      truth.x = d.pick(1200) / unit;
      truth.y = d.pick(1200) / unit;
      constexpr double kAreas[] = {1024.0, 9216.0, 1023.5, 9216.5};
      truth.area = d.pick(4) == 0 ? kAreas[d.pick(4)] : truth.width * truth.height;
      truth.label = d.pick(classes);
      if (number % 5 == 0 && truth.label == 0) truth.label = classes - 1;
      truth.crowd = d.pick(9) == 0;
      truth.difficult = d.pick(6) == 0;
      picture.truths.push_back(truth);
    }
    const bool many = number % 7 == 0 && d.pick(2) == 0;
    for (int n = many ? 90 + d.pick(60) : d.pick(6) == 0 ? 0 : d.pick(24); n > 0; --n) {
      FoundBox one;
      one.label = d.pick(classes);
      if (!picture.truths.empty() && d.pick(4) != 0) {
        const TruthBox& truth =
            picture
                .truths[static_cast<std::size_t>(d.pick(static_cast<int>(picture.truths.size())))];
        one.x = truth.x;
        one.y = truth.y;
        one.width = truth.width;
        one.height = truth.height;
        if (d.pick(3) != 0) {
          one.x = one.x + (d.pick(9) - 4) * one.width / 16;
          one.y = one.y + (d.pick(9) - 4) * one.height / 16;
          one.width = one.width * (12 + d.pick(9)) / 16;
        }
        if (d.pick(5) != 0) one.label = truth.label;
      } else {
        one.width = one.height = side(d.pick(3));
        one.x = d.pick(1200) / unit;
        one.y = d.pick(1200) / unit;
      }
      one.score = static_cast<float>(1 + d.pick(scores)) / static_cast<float>(scores);
      picture.found.push_back(one);
    }
    set.pictures.push_back(std::move(picture));
  }
  return set;
}

EvaluationSize size_for(const Set& set, std::int64_t records) {
  return {.classes = set.classes,
          .truths_of_a_picture = 20,
          .found_in_a_picture = 160,
          .truths_of_a_class = 100,
          .records = records};
}

void feed(AveragePrecision& evaluation, const Set& set) {
  for (const Picture& picture : set.pictures) evaluation.add_picture(picture.truths, picture.found);
}

nlohmann::json golden_precisions() {
  std::ifstream file(std::string(PLIMSOLL_TESTS_DIR) + "/golden/average_precision.json");
  return nlohmann::json::parse(file);
}

void expect_golden(const DetectionScores& scores, const nlohmann::json& wanted) {
  for (std::size_t i = 0; i < kCocoNumbers.size(); ++i)
    EXPECT_NEAR(scores.coco[i], wanted["coco"][i].get<double>(), 1e-14) << kCocoNumbers[i];
  EXPECT_NEAR(scores.voc_2007, wanted["voc"][0].get<double>(), 1e-14);
  EXPECT_NEAR(scores.voc_2012, wanted["voc"][1].get<double>(), 1e-14);
}

TEST(AveragePrecision, IsPycocotoolsAndVocsOnTwoHundredSets) {
  const nlohmann::json sets = golden_precisions()["sets"];
  ASSERT_EQ(sets.size(), 200U);
  for (int number = 0; number < 200; ++number) {
    SCOPED_TRACE("set " + std::to_string(number));
    const Set set = make_set(number);
    AveragePrecision evaluation(size_for(set, 1024), {});
    feed(evaluation, set);
    EXPECT_EQ(evaluation.found(), sets[static_cast<std::size_t>(number)]["found"]);
    expect_golden(evaluation.finish(), sets[static_cast<std::size_t>(number)]);
  }
}

TEST(AveragePrecision, IsTheSameThroughAFile) {
  const nlohmann::json sets = golden_precisions()["sets"];
  const TemporaryFolder folder;
  for (int number = 0; number < 200; ++number) {
    SCOPED_TRACE("set " + std::to_string(number));
    const Set set = make_set(number);
    AveragePrecision evaluation(size_for(set, 64), folder.path());
    for (int round = 0; round < 2; ++round) {
      feed(evaluation, set);
      expect_golden(evaluation.finish(), sets[static_cast<std::size_t>(number)]);
    }
  }
}

TEST(AveragePrecision, EveryClassHasItsOwn) {
  const Set set = make_set(3);
  AveragePrecision evaluation(size_for(set, 1024), {});
  feed(evaluation, set);
  const DetectionScores scores = evaluation.finish();
  double ap = 0, ap50 = 0, voc = 0, classes = 0;
  for (const ClassPrecision& one : scores.classes) {
    if (one.ap < 0) continue;
    classes += 1;
    ap += one.ap;
    ap50 += one.ap50;
    voc += one.voc_2012;
  }
  ASSERT_GT(classes, 0);
  EXPECT_NEAR(ap / classes, scores.coco[0], 1e-12);
  EXPECT_NEAR(ap50 / classes, scores.coco[1], 1e-12);
  EXPECT_NEAR(voc / classes, scores.voc_2012, 1e-12);
  double curve = 0;
  for (double precision : scores.precision50) curve += precision / kRecalls;
  EXPECT_NEAR(curve, scores.coco[1], 1e-12);
}

TEST(AveragePrecision, NothingToFindIsMinusOne) {
  AveragePrecision evaluation({.records = 16}, {});
  evaluation.add_picture({}, std::vector<FoundBox>{{0, 0, 9, 9, 0.5F, 0}});
  const DetectionScores scores = evaluation.finish();
  EXPECT_THAT(scores.coco, testing::Each(-1));
  EXPECT_EQ(scores.voc_2007, -1);
  EXPECT_EQ(scores.classes[0].ap, -1);
}

TEST(AveragePrecision, WithoutAFolderAFullBufferIsRefused) {
  AveragePrecision evaluation({.records = 16}, {});
  const std::vector<FoundBox> found{{0, 0, 9, 9, 0.5F, 0}};
  for (int i = 0; i < 16; ++i) evaluation.add_picture({}, found);
  EXPECT_THROW(evaluation.add_picture({}, found), UsageError);
}

TEST(AveragePrecision, AFolderThatIsNotThereIsTold) {
  EXPECT_THROW(AveragePrecision({.records = 16}, "/nowhere/at/all"), DataError);
}

TEST(AveragePrecision, PicturesTakeNoMemory) {
  if (!allocations_are_counted()) GTEST_SKIP() << "a sanitizer owns malloc";
  const TemporaryFolder folder;
  const Set set = make_set(7);
  AveragePrecision evaluation(size_for(set, 64), folder.path());
  const std::int64_t before = allocations_so_far();
  feed(evaluation, set);
  EXPECT_EQ(allocations_so_far() - before, 0);
}

// Run by the test below, in a control group.
TEST(AveragePrecision, DISABLED_OfAMillionDetections) {
  const TemporaryFolder folder;
  const EvaluationSize size{.classes = 80,
                            .truths_of_a_picture = 40,
                            .found_in_a_picture = 200,
                            .truths_of_a_class = 200000};
  EXPECT_LT(AveragePrecision::memory(size).count, 8 << 20);
  AveragePrecision evaluation(size, folder.path());
  Draws d("million");
  std::vector<TruthBox> truths(40);
  std::vector<FoundBox> found(200);
  std::int64_t hits = 0;
  for (int picture = 0; picture < 5000; ++picture) {
    for (TruthBox& truth : truths)
      truth = {.x = d.pick(500) * 1.0,
               .y = d.pick(500) * 1.0,
               .width = 20,
               .height = 20,
               .area = 400,
               .label = d.pick(80)};
    for (FoundBox& one : found) {
      const bool hit = d.pick(5) == 0;
      const TruthBox& truth = truths[static_cast<std::size_t>(d.pick(40))];
      one = {.x = hit ? truth.x : 1000,
             .y = truth.y,
             .width = 20,
             .height = 20,
             .score = static_cast<float>(d.pick(4096)) / 4096,
             .label = truth.label};
      hits += hit ? 1 : 0;
    }
    evaluation.add_picture(truths, found);
  }
  EXPECT_EQ(evaluation.found(), 1000000);
  const DetectionScores scores = evaluation.finish();
  EXPECT_GT(hits, 190000);
  EXPECT_GT(scores.coco[8], 0.55);
  EXPECT_LT(scores.coco[8], 0.70);
}

TEST(AveragePrecision, OfAMillionDetectionsTakes64MiB) {
  const MemoryGroup group(64 << 20);
  if (!group.exists()) std::puts("no writable control group: runs without one");
  const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string command =
      group.enter() + program +
      " --gtest_also_run_disabled_tests --gtest_filter=AveragePrecision.DISABLED_OfAMillion* "
      "> /dev/null";
  EXPECT_EQ(std::system(("sh -c '" + command + "'").c_str()), 0);
}

}  // namespace
}  // namespace plimsoll::boxes
