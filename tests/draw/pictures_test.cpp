#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <regex>
#include <set>

#include "draw/draw.h"
#include "tests/support/xml.h"

namespace plimsoll::draw {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr double kInfinite = std::numeric_limits<double>::infinity();

// No number that is none, anywhere in an attribute.
void expect_sound(const std::string& svg) {
  EXPECT_TRUE(tests::is_well_formed(svg));
  EXPECT_FALSE(std::regex_search(svg, std::regex("\"[^\"<>]*\\b(nan|inf)\\b[^\"<>]*\""))) << svg;
}

std::vector<ResultPoint> learning(int epochs) {
  std::vector<ResultPoint> rows;
  for (int e = 1; e <= epochs; ++e)
    rows.push_back({.epoch = static_cast<double>(e),
                    .loss = 2.0 / e,
                    .metric = 1 - 1.0 / (e + 1),
                    .val_loss = 2.2 / e,
                    .val_metric = e == 7 ? 0.95 : 0.9 - 0.8 / e,
                    .lr = 0.1 / e});
  return rows;
}

TEST(CurvesPicture, NamesTheBestEpochAndHasAPanelForEachQuantity) {
  const std::string svg = curves_picture("xception_mini", {}, learning(12));
  expect_sound(svg);
  for (const char* text : {"xception_mini", "loss", "accuracy", "learning rate", "training",
                           "validation", "best: validation accuracy 95.0 % after epoch 7"})
    EXPECT_THAT(svg, HasSubstr(text));
}

TEST(CurvesPicture, LeavesOutWhatWasNotMeasured) {
  std::vector<ResultPoint> rows = learning(5);
  for (ResultPoint& row : rows) row.metric = row.val_loss = row.val_metric = kNoValue;
  const std::string svg = curves_picture("mse", {}, rows);
  expect_sound(svg);
  EXPECT_THAT(svg, Not(HasSubstr("accuracy")));
  EXPECT_THAT(svg, Not(HasSubstr("validation")));
}

TEST(Pictures, TakeNothingOnePointAndWhatIsNotFinite) {
  expect_sound(curves_picture("", {}, {}));
  expect_sound(curves_picture("one", {}, learning(1)));
  std::vector<ResultPoint> bad = learning(6);
  bad[2].loss = kInfinite;
  bad[3].val_loss = -kInfinite;
  bad[4].epoch = kNoValue;
  bad[5].loss = 1e308;
  expect_sound(curves_picture("bad", {}, bad));

  expect_sound(memory_picture("none", {}, 0, std::nullopt));
  const MemorySample strange[] = {{kNoValue, 5}, {kInfinite, -7}, {3, 1 << 20}};
  expect_sound(memory_picture("strange", strange, -1, 0));

  expect_sound(learning_rate_picture("none", {}, std::nullopt, "there were no steps"));
  const RatePoint rates[] = {{0, 1, 1}, {-1, 2, 2}, {1e-3, kNoValue, kInfinite}, {1e-2, 3, 3}};
  expect_sound(learning_rate_picture("strange", rates, kNoValue, "none"));
  expect_sound(line_chart_svg({}));
  expect_sound(confusion_chart_svg("none", {}, {}));
}

TEST(Pictures, EscapeNamesAndMendWhatIsNotText) {
  const std::string name = "a<b>&\"c'\x01\xFF\xC3\xA9\xED\xA0\x80";
  const std::string svg = curves_picture(name, {}, learning(3));
  expect_sound(svg);
  EXPECT_THAT(svg, HasSubstr("a&lt;b&gt;&amp;&quot;c&#39;??\xC3\xA9???"));
  const std::string names[] = {name, "]]>"};
  const std::int64_t counts[] = {1, 2, 3, 4};
  expect_sound(confusion_chart_svg(name, names, counts));
}

TEST(MemoryPicture, ShowsPredictionAndBudget) {
  std::vector<MemorySample> samples;
  for (int s = 0; s < 100'000; ++s)
    samples.push_back({s * 0.5, s == 70'001 ? 900 << 20 : 800 << 20});
  const std::string svg = memory_picture("run", samples, 950LL << 20, 1LL << 30);
  expect_sound(svg);
  for (const char* text :
       {"predicted 950 MiB", "budget 1 GiB", "highest sample 900 MiB", "hours since the run began"})
    EXPECT_THAT(svg, HasSubstr(text));
  // A day of samples is thinned to the width, and its one peak stays.
  EXPECT_LT(svg.size(), 100'000U);
  std::set<std::string> heights;
  const std::regex point("[ML][0-9.]+,([0-9.]+)");
  for (std::sregex_iterator match(svg.begin(), svg.end(), point), end; match != end; ++match)
    heights.insert((*match)[1]);
  EXPECT_EQ(heights.size(), 2U);
}

TEST(MemoryPicture, OnlyNamesABudgetFarAboveTheRun) {
  const MemorySample samples[] = {{0, 1 << 20}, {1, 2 << 20}};
  const std::string svg = memory_picture("run", samples, 3 << 20, 1LL << 40);
  EXPECT_THAT(svg, HasSubstr("budget 1 TiB"));
  EXPECT_THAT(svg, Not(HasSubstr(">budget 1 TiB<")));
}

TEST(LearningRatePicture, MarksTheSuggestionAndGivesItsReason) {
  std::vector<RatePoint> curve;
  for (int i = 0; i < 60; ++i) {
    const double rate = 1e-6 * std::pow(10, i * 0.1);
    curve.push_back({rate, i > 55 ? 1e12 : 2 - i * 0.02, i > 55 ? 1e9 : 2 - i * 0.02});
  }
  const std::string svg = learning_rate_picture("run", curve, 3.2e-2, "it falls fastest here");
  expect_sound(svg);
  for (const char* text : {">suggestion 0.032<", "--lr 0.032; it falls fastest here", ">1e-6<"})
    EXPECT_THAT(svg, HasSubstr(text));
}

TEST(ConfusionChart, ShowsCountsAndTheWorstPair) {
  const std::string names[] = {"cat", "dog", "fox"};
  const std::int64_t counts[] = {50, 3, 0, 9, 40, 1, 0, 0, 30};
  const std::string svg = confusion_chart_svg("eval", names, counts);
  expect_sound(svg);
  EXPECT_THAT(svg, HasSubstr("120 of 133 right (90.2 %); most often dog taken for cat 9 times"));
  EXPECT_THAT(svg, HasSubstr(">50<"));
}

TEST(ConfusionChart, StaysWithinBoundsUpToAHundredClasses) {
  for (const std::size_t classes : {1U, 2U, 25U, 26U, 100U}) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < classes; ++i)
      names.push_back("a class with a rather long name " + std::to_string(i));
    const std::vector<std::int64_t> counts(classes * classes, 1'234'567);
    const std::string svg = confusion_chart_svg("many", names, counts);
    expect_sound(svg);
    const bool has_numbers = svg.find(">1234567<") != std::string::npos;
    EXPECT_EQ(has_numbers, classes <= 25) << classes;
  }
}

TEST(LineChart, KeepsMarksAndLegendOutsideThePlot) {
  Panel panel{.title = "y"};
  for (int s = 0; s < 12; ++s)
    panel.series.push_back({.name = "a series with quite a name " + std::to_string(s),
                            .points = {{0, 1.0 * s}, {1, 2.0 * s}}});
  panel.horizontal = {{"first", 10}, {"second", 10.01}};
  const std::string svg = line_chart_svg({.title = "t", .panels = {panel}});
  expect_sound(svg);
  // Names of lines that nearly touch stand apart.
  const std::regex label("<text x=\"([0-9.]+)\" y=\"([0-9.]+)\"[^>]*>(first|second)<");
  std::vector<double> heights;
  for (std::sregex_iterator match(svg.begin(), svg.end(), label), end; match != end; ++match) {
    EXPECT_GT(std::stod((*match)[1]), 912) << "beside the plot";
    heights.push_back(std::stod((*match)[2]));
  }
  ASSERT_EQ(heights.size(), 2U);
  EXPECT_GE(std::abs(heights[0] - heights[1]), 14);
}

}  // namespace
}  // namespace plimsoll::draw
