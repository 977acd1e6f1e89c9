// The words of vector code, for every width there is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/cpu.h"
#include "kernels/simd/eight.h"
#include "kernels/simd/two_eights.h"

#define PLIMSOLL_WORDS eight
#include "tests/kernels/words.inc"
#undef PLIMSOLL_WORDS
#define PLIMSOLL_WORDS two_eights
#include "tests/kernels/words.inc"

namespace plimsoll {
namespace tests {
std::vector<std::string> wrong_words_of_sixteen();
}
namespace {

TEST(Words, MeanInEightLanesWhatTheySay) {
  EXPECT_THAT(tests::eight::wrong_words(), testing::IsEmpty());
}

TEST(Words, MeanInTwoRegistersWhatTheySay) {
  EXPECT_THAT(tests::two_eights::wrong_words(), testing::IsEmpty());
}

TEST(Words, MeanInSixteenLanesWhatTheySay) {
  if (!PLIMSOLL_SIXTEEN_RUN_ANYWHERE && !has_avx512())
    GTEST_SKIP() << "avx512: this processor lacks it, and there is no SIMDe (libsimde-dev)";
  EXPECT_THAT(tests::wrong_words_of_sixteen(), testing::IsEmpty());
}

TEST(Words, OfAvx512AreWhatKernelsOfSixteenLanesUse) {
  if (!has_avx512())
    GTEST_SKIP() << "avx512: this processor lacks it; kernels of 16 lanes are tested in pairs of "
                    "registers of 8";
}

}  // namespace
}  // namespace plimsoll
