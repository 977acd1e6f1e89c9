// Anchors and matches against torchvision's, element by element (tools/golden/make_boxes.py), and
// what the rules say where torchvision says nothing.
#include "boxes/matching.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/random.h"
#include "boxes/anchors.h"

namespace plimsoll::boxes {
namespace {

using testing::Each;
using testing::ElementsAre;

constexpr double kRatios[] = {0.5, 1, 2};

nlohmann::json golden_matches() {
  std::ifstream file(std::string(PLIMSOLL_TESTS_DIR) + "/golden/boxes.json");
  return nlohmann::json::parse(file);
}

// FNV-1a over little-endian 32-bit integers.
class Hash {
 public:
  void add(std::int64_t value) {
    for (int byte = 0; byte < 4; ++byte)
      hash_ = (hash_ ^ (static_cast<std::uint64_t>(value) >> 8 * byte & 0xFF)) * 1099511628211ULL;
  }
  std::string text() const { return std::to_string(hash_); }

 private:
  std::uint64_t hash_ = 14695981039346656037ULL;
};

std::vector<AnchorLevel> levels_of(const nlohmann::json& c) {
  const bool octaves = c["model"] == "retinanet";
  std::vector<AnchorLevel> levels;
  std::int64_t base = 32;
  for (const auto& cells : c["levels"]) {
    const auto sizes = octaves ? octave_sizes(base) : std::vector<std::int64_t>{base};
    levels.push_back(anchor_level(c["canvas"][0], c["canvas"][1], cells[0], cells[1],
                                  anchor_shapes(sizes, kRatios)));
    base *= 2;
  }
  return levels;
}

// body(level, row, column, shape) in the order of anchors.
template <class Body>
void each_anchor(const std::vector<AnchorLevel>& levels, Body body) {
  for (std::size_t l = 0; l < levels.size(); ++l)
    for (std::int64_t row = 0; row < levels[l].rows; ++row)
      for (std::int64_t column = 0; column < levels[l].columns; ++column)
        for (std::int64_t a = 0; a < std::ssize(levels[l].shapes); ++a) body(l, row, column, a);
}

// As make_boxes.py makes them.
template <class T>
std::vector<Box<T>> boxes_of(const std::string& name, std::int64_t count, std::int64_t height,
                             std::int64_t width) {
  const std::uint64_t hash = fnv1a64(name);
  const auto draw = [&](std::int64_t i) {
    return static_cast<std::int64_t>(
        splitmix64(hash + static_cast<std::uint64_t>(i + 1) * 0x9E3779B97F4A7C15ULL) >> 40);
  };
  std::vector<Box<T>> boxes;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t kind = draw(5 * i), x = draw(5 * i + 1), y = draw(5 * i + 2),
                       w = draw(5 * i + 3), h = draw(5 * i + 4);
    if (kind % 7 == 0 && !boxes.empty()) {
      boxes.push_back(boxes[static_cast<std::size_t>(x % std::ssize(boxes))]);
      continue;
    }
    const auto quarters = [](std::int64_t v) { return static_cast<T>(v) / 4; };
    T x0 = quarters(x % (4 * (width - 8))), y0 = quarters(y % (4 * (height - 8)));
    T side_x = quarters(1 + w % (2 * width)), side_y = quarters(1 + h % (2 * height));
    if (kind % 5 == 0) {
      constexpr T kSides[] = {32, 46, 64, 128};
      x0 = static_cast<T>(x % (width / 32) * 32);
      y0 = static_cast<T>(y % (height / 32) * 32);
      side_x = kSides[w % 4];
      side_y = kSides[h % 4];
    }
    boxes.push_back({x0, y0, x0 + side_x, y0 + side_y});
  }
  return boxes;
}

// Both passes over all levels, rows in pieces as threads would take them.
template <class T>
std::vector<std::vector<std::int32_t>> matches(const std::vector<AnchorLevel>& levels,
                                               const std::vector<Box<T>>& boxes,
                                               const MatchRule& rule) {
  std::vector<T> best(boxes.size(), T(0));
  const auto in_pieces = [](const AnchorLevel& level, auto body) {
    const std::int64_t half = level.rows / 2;
    body(half, level.rows);
    body(0, half);
  };
  for (const AnchorLevel& level : levels)
    in_pieces(level,
              [&](auto first, auto last) { raise_best<T>(level, first, last, boxes, best); });
  std::vector<std::vector<std::int32_t>> codes;
  for (const AnchorLevel& level : levels) {
    codes.emplace_back(static_cast<std::size_t>(level.count()), 7);
    std::vector<double> scratch(
        static_cast<std::size_t>(match_scratch_bytes<T>(level.columns) / 8 + 1));
    in_pieces(level, [&](auto first, auto last) {
      match_rows<T>(level, first, last, boxes, best, rule, codes.back(),
                    reinterpret_cast<std::byte*>(scratch.data()));
    });
  }
  return codes;
}

TEST(Anchors, AreTorchvisionsInEveryElement) {
  const nlohmann::json cases = golden_matches()["cases"];
  ASSERT_EQ(cases.size(), 6U);
  for (const auto& c : cases) {
    SCOPED_TRACE(c["model"].get<std::string>() + " " + c["canvas"].dump());
    const std::vector<AnchorLevel> levels = levels_of(c);
    std::int64_t count = 0;
    Hash hash;
    each_anchor(levels, [&](std::size_t l, auto row, auto column, auto a) {
      const Box<float> box = levels[l].box<float>(row, column, a);
      for (float side : {box.x0, box.y0, box.x1, box.y1}) hash.add(static_cast<int>(side));
      ++count;
    });
    EXPECT_EQ(count, c["count"]);
    EXPECT_EQ(hash.text(), c["hash"]);
  }
}

TEST(Anchors, RoundHalvesToEvenAndStridesDown) {
  const auto shapes = anchor_shapes(octave_sizes(128), kRatios);
  ASSERT_EQ(shapes.size(), 9U);
  EXPECT_EQ(shapes[4], (HalfSides{80, 80}));    // of 80.5
  EXPECT_EQ(shapes[5], (HalfSides{102, 102}));  // of 101.5
  const AnchorLevel p6 = anchor_level(800, 800, 13, 13, shapes);
  const AnchorLevel p7 = anchor_level(800, 800, 7, 7, shapes);
  EXPECT_EQ(p6.stride_y, 61);
  EXPECT_EQ(p7.stride_x, 114);
}

template <class T>
void expect_torchvisions(const std::vector<AnchorLevel>& levels, const nlohmann::json& c,
                         const nlohmann::json& match) {
  const bool retina = c["model"] == "retinanet";
  const MatchRule rule{.positive = retina ? 0.5 : 0.7, .negative = retina ? 0.4 : 0.3};
  const auto boxes = boxes_of<T>(match["name"], match["boxes"], c["canvas"][0], c["canvas"][1]);
  const auto codes = matches<T>(levels, boxes, rule);
  Hash hash;
  std::int64_t positives = 0, ignored = 0;
  each_anchor(levels, [&](std::size_t l, auto row, auto column, auto a) {
    const AnchorLevel& level = levels[l];
    const std::int32_t code =
        codes[l][static_cast<std::size_t>((a * level.rows + row) * level.columns + column)];
    hash.add(code);
    positives += code >= 0 ? 1 : 0;
    ignored += code == kIgnored ? 1 : 0;
  });
  EXPECT_EQ(positives, match["positives"]);
  EXPECT_EQ(ignored, match["ignored"]);
  EXPECT_EQ(hash.text(), match["hash"]);
}

TEST(Matching, IsTorchvisionsInEveryElement) {
  const nlohmann::json cases = golden_matches()["cases"];
  ASSERT_EQ(cases.size(), 6U);
  for (const auto& c : cases) {
    const std::vector<AnchorLevel> levels = levels_of(c);
    for (const auto& match : c["matches"]) {
      SCOPED_TRACE(match["name"].get<std::string>() + " " + match["dtype"].get<std::string>());
      if (match["dtype"] == "float32")
        expect_torchvisions<float>(levels, c, match);
      else
        expect_torchvisions<double>(levels, c, match);
    }
  }
}

// Four cells of one 8 x 8 anchor, 10 apart.
AnchorLevel small_level() { return anchor_level(20, 20, 2, 2, {{4, 4}}); }

TEST(Matching, ABoxThatNoAnchorTouchesMakesNoneOfThemPositive) {
  EXPECT_THAT(matches<float>({small_level()}, {{500, 500, 510, 510}}, {})[0], Each(kNegative));
  EXPECT_THAT(matches<float>({small_level()}, {{3, 3, 3, 9}}, {})[0], Each(kNegative))
      << "nor one without area";
}

TEST(Matching, TheFirstOfEqualBoxesIsFound) {
  const Box<float> box{-4, -4, 4, 4};
  EXPECT_THAT(matches<float>({small_level()}, {box, box}, {})[0],
              ElementsAre(0, kNegative, kNegative, kNegative));
}

TEST(Matching, AForcedAnchorFindsItsOwnBestBox) {
  // The second box' best anchor is the first one, which the first box fits better.
  const std::vector<Box<float>> boxes{{-4, -4, 4, 4}, {-4, -4, 2, -3}};
  EXPECT_THAT(matches<float>({small_level()}, boxes, {})[0],
              ElementsAre(0, kNegative, kNegative, kNegative));
  EXPECT_THAT(matches<float>({small_level()}, {boxes[1]}, {})[0],
              ElementsAre(0, kNegative, kNegative, kNegative));
  EXPECT_THAT(matches<float>({small_level()}, {boxes[1]}, {.low_quality = false})[0],
              Each(kNegative));
}

TEST(Matching, BetweenTheThresholdsIsIgnored) {
  // IoUs of 0.5, 0.4375 and 0.375 with the first anchor.
  for (const auto& [height, code] : {std::pair{4.0F, 0}, {3.5F, kIgnored}, {3.0F, kNegative}})
    EXPECT_EQ(
        matches<float>({small_level()}, {{-4, -4, 4, -4 + height}}, {.low_quality = false})[0][0],
        code);
}

TEST(Matching, OfABoxAmongOthersIsTheSameRule) {
  const std::vector<Box<double>> boxes{{0, 0, 4, 4}, {0, 0, 8, 8}, {0, 0, 8, 8}};
  const MatchRule rule{.positive = 0.5, .negative = 0.5, .low_quality = false};
  EXPECT_EQ(match_one<double>({0, 0, 8, 7}, boxes, rule), 1);
  EXPECT_EQ(match_one<double>({0, 0, 8, 4}, boxes, rule), 0) << "0.5 with both: the first";
  EXPECT_EQ(match_one<double>({20, 0, 28, 4}, boxes, rule), kNegative);
  EXPECT_EQ(match_one<double>({20, 0, 28, 4}, {}, rule), kNegative);
}

TEST(Matching, TheWorstNumbersDoNoHarm) {
  const float nan = std::nanf(""), huge = 1e30F;
  const std::vector<Box<float>> boxes{{nan, nan, nan, nan},       {nan, 0, 4, 4}, {0, 0, nan, 4},
                                      {-huge, -huge, huge, huge}, {9, 9, 1, 1},   {-4, -4, 4, 4}};
  EXPECT_EQ(matches<float>({small_level()}, boxes, {})[0][0], 5);
}

}  // namespace
}  // namespace plimsoll::boxes
