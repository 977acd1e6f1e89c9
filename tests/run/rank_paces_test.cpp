#include "run/rank_paces.h"

#include <gtest/gtest.h>

namespace plimsoll {
namespace {

// One rank's word of a step that took it so long, of which it waited.
dist::Word word(double seconds, double for_others = 0, double for_data = 0) {
  return {.seconds = seconds, .waited_for_data = for_data, .waited_for_others = for_others};
}

// So many steps with these words.
std::vector<Straggler> after(RankPaces& paces, std::int64_t steps,
                             const std::vector<dist::Word>& words) {
  for (std::int64_t i = 0; i < steps; ++i) paces.note(words);
  return paces.find_stragglers();
}

TEST(RankPaces, NameOneThatIsSlowerByATenthOverFiftySteps) {
  RankPaces paces;
  // All end a step together: who is fast waits for the others.
  const std::vector<dist::Word> words{word(1.25, 0.25), word(1.25, 0), word(1.25, 0.23)};
  EXPECT_TRUE(after(paces, RankPaces::kSteps - 1, words).empty());
  const std::vector<Straggler> found = after(paces, 1, words);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].rank, 1);
  EXPECT_NEAR(found[0].slower, 1.25 / 1.02 - 1, 1e-9);
  EXPECT_NEAR(found[0].step_seconds, 1.25, 1e-9);
  EXPECT_EQ(found[0].waited_for_data, 0);
}

TEST(RankPaces, NameItOnce) {
  RankPaces paces;
  const std::vector<dist::Word> words{word(1, 0.5), word(1, 0), word(1, 0.5)};
  EXPECT_EQ(after(paces, RankPaces::kSteps, words).size(), 1U);
  EXPECT_TRUE(after(paces, RankPaces::kSteps, words).empty());
}

TEST(RankPaces, CountWaitingForDataAsTheRanksOwn) {
  RankPaces paces;
  const std::vector<Straggler> found =
      after(paces, RankPaces::kSteps, {word(1, 0, 0), word(1, 0, 0.5), word(1, 0, 0)});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].rank, 1);
  EXPECT_NEAR(found[0].waited_for_data, 0.5, 1e-9);
}

TEST(RankPaces, OfTwoNameTheSlower) {
  RankPaces paces;
  const std::vector<Straggler> found = after(paces, RankPaces::kSteps, {word(2, 0), word(2, 0.5)});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].rank, 0);
}

TEST(RankPaces, NameNobodyForOneSlowStep) {
  RankPaces paces;
  paces.note(std::vector<dist::Word>{word(4), word(1)});
  EXPECT_TRUE(after(paces, RankPaces::kSteps - 1, {word(1), word(1)}).empty());
}

TEST(RankPaces, RememberTheLastWordOfEach) {
  RankPaces paces;
  EXPECT_EQ(paces.last_of(1).seconds, 0);
  paces.note(std::vector<dist::Word>{word(4), word(1)});
  EXPECT_EQ(paces.last_of(1).seconds, 1);
  EXPECT_EQ(paces.last_of(7).seconds, 0);
}

}  // namespace
}  // namespace plimsoll
