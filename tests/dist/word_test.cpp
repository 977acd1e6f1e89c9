#include "dist/word.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/error.h"

namespace plimsoll::dist {
namespace {

const Word kWord{.step = 812,
                 .stops = true,
                 .saves = false,
                 .has_failed = true,
                 .has_news = false,
                 .weights = 0xDEADBEEF,
                 .seconds = 4.25,
                 .waited_for_data = 0.5,
                 .waited_for_others = 0.125};

TEST(Word, IsReadAsItWasWritten) {
  EXPECT_EQ(parse_word(pack_word(kWord), "rank 1"), kWord);
  EXPECT_EQ(parse_word(pack_word({}), "rank 1"), Word{});
}

TEST(Word, OfAnyOtherLengthIsRefused) {
  const WordBytes bytes = pack_word(kWord);
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_THROW(parse_word(std::span(bytes).first(size), "rank 1"), DataError) << size;
}

TEST(Word, OfAnotherVersionOrWithFlagsThatNobodyKnowsIsRefused) {
  for (std::size_t at : {std::size_t{0}, std::size_t{3}, std::size_t{5}}) {
    WordBytes bytes = pack_word(kWord);
    bytes[at] ^= std::byte{0x80};
    EXPECT_THROW(parse_word(bytes, "rank 1"), DataError) << at;
  }
}

TEST(Word, WithATimeThatIsNoneIsRefused) {
  Word word = kWord;
  word.seconds = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(parse_word(pack_word(word), "rank 1"), DataError);
}

std::vector<Word> telling(std::initializer_list<std::uint32_t> checksums) {
  std::vector<Word> words;
  for (std::uint32_t checksum : checksums) words.emplace_back().weights = checksum;
  return words;
}

TEST(Word, TheRankWhoseWeightsDifferIsFoundByMajority) {
  EXPECT_TRUE(find_odd_ranks(telling({5, 5, 5})).empty());
  EXPECT_EQ(find_odd_ranks(telling({5, 5, 6})), std::vector<int>{2});
  EXPECT_EQ(find_odd_ranks(telling({6, 5, 5, 5})), std::vector<int>{0});
  EXPECT_EQ(find_odd_ranks(telling({5, 6})), std::vector<int>{1});
  std::vector<Word> silent(3);
  EXPECT_TRUE(find_odd_ranks(silent).empty());
}

}  // namespace
}  // namespace plimsoll::dist
