#include "dist/agreement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/ranks.h"

namespace plimsoll::dist {
namespace {

using testing::Each;
using testing::HasSubstr;

TEST(Agreement, RanksThatAreAlikeGoOn) {
  const auto thrown = run_ranks(3, [](Group& group) {
    check_same(group, std::vector<Fact>{{"program", "abc"}, {"--threads", "2"}});
  });
  EXPECT_THAT(thrown, Each(std::string()));
}

TEST(Agreement, TheRankThatDiffersIsNamedToAllWithItsHostAndBothValues) {
  for (int odd = 0; odd < 3; ++odd) {
    const auto thrown = run_ranks(3, [odd](Group& group) {
      const std::string threads = group.rank() == odd ? "4" : "2";
      check_same(group, std::vector<Fact>{{"program", "abc"}, {"--threads", threads}});
    });
    const std::string name = "rank " + std::to_string(odd) + " on h" + std::to_string(odd);
    EXPECT_THAT(thrown, Each(HasSubstr(name + ": --threads: 4; expected 2")));
  }
}

TEST(Agreement, OfTwoTheSecondIsTheOneThatDiffers) {
  const auto thrown = run_ranks(2, [](Group& group) {
    check_same(group, std::vector<Fact>{{"data", std::to_string(group.rank())}});
  });
  EXPECT_THAT(thrown, Each(HasSubstr("rank 1 on h1: data: 1; expected 0")));
}

TEST(Agreement, FactsOfAnotherProgramAreAnotherVersion) {
  const auto thrown = run_ranks(2, [](Group& group) {
    std::vector<Fact> facts{{"program", "abc"}};
    if (group.rank() == 1) facts.push_back({"more", "x"});
    check_same(group, facts);
  });
  EXPECT_THAT(thrown, Each(HasSubstr("another version")));
}

TEST(Agreement, OneRankRefusedByItsBudgetRefusesAll) {
  std::atomic<int> refused{0};
  const auto thrown = run_ranks(4, [&](Group& group) {
    try {
      do_on_all(&group, [&] {
        if (group.rank() == 2)
          throw BudgetError({.where = "budget 1 MiB", .got = "too little", .expected = "more"});
      });
    } catch (const BudgetError&) {
      EXPECT_TRUE(group.is_ending());
      ++refused;
      throw;
    }
  });
  EXPECT_EQ(refused, 4);
  EXPECT_THAT(thrown, Each(HasSubstr("rank 2 on h2: budget 1 MiB: too little; more")));
}

TEST(Agreement, WhatIsWrongEverywhereNamesNobody) {
  const auto thrown = run_ranks(2, [&](Group& group) {
    do_on_all(&group, [] {
      throw DataError({.where = "photos", .got = "no such folder", .expected = "one"});
    });
  });
  EXPECT_THAT(thrown, Each(std::string("photos: no such folder; one")));
}

TEST(Agreement, FactsThatAreCutOffAreRefused) {
  const std::string bytes = pack_facts(std::vector<Fact>{{"a", "b"}, {"c", "d"}});
  EXPECT_EQ(parse_facts(bytes, "rank 1").size(), 2U);
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_THROW(parse_facts(bytes.substr(0, size), "rank 1"), DataError) << size;
}

}  // namespace
}  // namespace plimsoll::dist
