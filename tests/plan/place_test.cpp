#include "plan/place.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "plan/place_under.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kLine = 64;

class Dice {
 public:
  explicit Dice(std::uint64_t key) : key_(key) {}
  // In [low, high].
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + philox(key_, next_++)[0] % (high - low + 1);
  }

 private:
  std::uint64_t key_;
  std::uint64_t next_ = 0;
};

void expect_apart(const std::vector<Block>& blocks, const Placement& placement) {
  ASSERT_EQ(placement.offset.size(), blocks.size());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    EXPECT_GE(placement.offset[i], 0);
    EXPECT_LE(placement.offset[i] + blocks[i].bytes, placement.top);
    for (std::size_t j = 0; j < i; ++j) {
      if (blocks[i].last < blocks[j].first || blocks[j].last < blocks[i].first) continue;
      const bool below = placement.offset[i] + blocks[i].bytes <= placement.offset[j];
      const bool above = placement.offset[j] + blocks[j].bytes <= placement.offset[i];
      ASSERT_TRUE(below || above) << "blocks " << i << " and " << j << " are live at one step";
    }
  }
  EXPECT_GE(placement.top, live_bound(blocks));
}

std::vector<Block> random_blocks(std::uint64_t key, int count, int steps) {
  Dice dice(key);
  std::vector<Block> blocks;
  for (int i = 0; i < count; ++i) {
    const auto first = static_cast<int>(dice.between(0, steps - 1));
    const auto last = static_cast<int>(dice.between(first, steps - 1));
    blocks.push_back({first, last, kLine * dice.between(0, 200)});
  }
  return blocks;
}

// A chain of layers as training sees it: what forward makes lives until its own backward step, the
// gradients in between live for two steps, and some steps have scratch. Widths shrink and grow as
// in a network of stages.
std::vector<Block> training_blocks(std::uint64_t key, int layers) {
  Dice dice(key);
  std::vector<Block> blocks;
  std::int64_t image = 1 << 20;
  const int last = 2 * layers - 1;
  for (int layer = 0; layer < layers; ++layer) {
    if (layer % 6 == 5) image = image * 5 / 8 / kLine * kLine;
    const std::int64_t bytes = image * dice.between(1, 3);
    blocks.push_back({layer, last - layer, bytes});
    if (dice.between(0, 2) == 0) blocks.push_back({layer, layer + 1, bytes});
    if (layer > 0) blocks.push_back({last - layer, last - layer + 1, bytes});
    const std::int64_t scratch = kLine * dice.between(0, 2000);
    blocks.push_back({layer, layer, scratch});
    blocks.push_back({last - layer, last - layer, 2 * scratch});
  }
  return blocks;
}

TEST(Place, NothingTakesNoRoom) {
  EXPECT_EQ(live_bound({}), 0);
  EXPECT_EQ(place({}).top, 0);
}

TEST(Place, KeepsLiveBlocksApart) {
  for (std::uint64_t key = 0; key < 60; ++key) {
    SCOPED_TRACE("key " + std::to_string(key));
    const std::vector<Block> blocks =
        random_blocks(key, 5 + static_cast<int>(key) * 3, 4 + static_cast<int>(key));
    expect_apart(blocks, place(blocks));
  }
}

TEST(Place, BlocksThatNeverMeetShareTheirBytes) {
  const std::vector<Block> blocks{{0, 1, 640}, {2, 3, 640}, {4, 4, 128}};
  EXPECT_EQ(place(blocks).top, 640);
}

TEST(Place, BlocksThatMeetAtOneStepDoNot) {
  const std::vector<Block> blocks{{0, 2, 640}, {2, 3, 640}};
  EXPECT_EQ(live_bound(blocks), 1280);
  EXPECT_EQ(place(blocks).top, 1280);
}

TEST(Place, TakesHardlyMoreThanTheBoundInTraining) {
  for (int layers : {8, 20, 50, 120}) {
    for (std::uint64_t key = 0; key < 8; ++key) {
      const std::vector<Block> blocks = training_blocks(key, layers);
      const Placement placement = place(blocks);
      expect_apart(blocks, placement);
      const auto bound = static_cast<double>(live_bound(blocks));
      EXPECT_LE(static_cast<double>(placement.top), 1.01 * bound)
          << layers << " layers, key " << key << ": " << static_cast<double>(placement.top) / bound;
    }
  }
}

TEST(Place, StaysBelowACeilingThatLeavesSomeRoom) {
  for (int layers : {20, 50, 120}) {
    for (std::uint64_t key = 0; key < 8; ++key) {
      const std::vector<Block> blocks = training_blocks(key, layers);
      const std::int64_t bound = live_bound(blocks);
      const std::int64_t ceiling = (bound + bound / 50) / kLine * kLine;
      const Placement placement = place_under(blocks, ceiling, 50);
      expect_apart(blocks, placement);
      EXPECT_LE(placement.top, ceiling) << layers << " layers, key " << key;
    }
  }
}

TEST(Place, GrowsAboveACeilingThatIsTooLow) {
  const std::vector<Block> blocks = random_blocks(5, 80, 30);
  const Placement placement = place_under(blocks, live_bound(blocks) / 2 / kLine * kLine, 5);
  expect_apart(blocks, placement);
}

TEST(Place, TheSameBlocksGetTheSamePlaces) {
  const std::vector<Block> blocks = random_blocks(3, 100, 40);
  EXPECT_EQ(place(blocks).offset, place(blocks).offset);
}

TEST(Place, OffsetsKeepTheAlignmentOfSizes) {
  for (std::uint64_t key = 0; key < 10; ++key)
    for (std::int64_t offset : place(random_blocks(key, 50, 20)).offset)
      EXPECT_EQ(offset % kLine, 0);
}

}  // namespace
}  // namespace plimsoll
