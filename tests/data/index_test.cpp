// What an index says it holds against what malloc gave for it.
#include <gtest/gtest.h>
#include <malloc.h>

#include "base/held.h"
#include "data/source/class_folders.h"
#include "data/source/open_source.h"
#include "tests/support/sanitized.h"
#include "tests/support/temporary_folder.h"

namespace plimsoll {
namespace {

std::int64_t given_by_malloc() {
  const struct mallinfo2 info = mallinfo2();
  return static_cast<std::int64_t>(info.uordblks + info.hblkhd);
}

// 3,000 files with names of 200 characters in 30 classes with names of 100.
class LongNames {
 public:
  LongNames() {
    for (int i = 0; i < 3000; ++i)
      folder_.put(std::string(98, 'c') + std::to_string(10 + i % 30) + "/" + std::to_string(i) +
                      std::string(190, 'n') + ".bmp",
                  "");
  }
  SourcePtr open() const { return open_source(folder_.path()); }

 private:
  TemporaryFolder folder_;
};

TEST(Index, SaysWhatItHolds) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer owns malloc";
  const LongNames names;
  names.open();  // what listing keeps for the next time is not the index
  const std::int64_t before = given_by_malloc();
  const SourcePtr source = names.open();
  const auto measured = static_cast<double>(given_by_malloc() - before);
  const auto said = static_cast<double>(index_bytes({source.get()}).held.count);
  EXPECT_GT(said, 3000 * 200);
  EXPECT_NEAR(said, measured, 0.02 * measured);
}

TEST(Index, SaysWhatListingTookBesideIt) {
  const LongNames names;
  const IndexBytes bytes = index_bytes({names.open().get()});
  EXPECT_GE(bytes.opening.count, 100 * 200) << "the names of one class at a time";
  EXPECT_LT(bytes.opening.count, bytes.held.count / 2) << "and not all of them twice";
}

TEST(Index, OfTwoPartsIsThereOnce) {
  const LongNames names;
  const SourcePtr whole = names.open();
  const SplitSources parts = split(whole, 0.2, 1);
  const auto held = [](const std::vector<const Source*>& sources) {
    return index_bytes(sources).held.count;
  };
  const std::int64_t both = held({parts.train.get(), parts.validation.get()});
  EXPECT_GT(both, held({whole.get()}) + 3000 * 4);
  EXPECT_LT(both, held({whole.get()}) + 3000 * 5);
  EXPECT_LT(both, held({parts.train.get()}) + held({parts.validation.get(), nullptr}) - 500'000);
}

TEST(Index, KeepsNamesOfAnyLength) {
  const TemporaryFolder folder;
  std::vector<std::string> expected;
  for (int i = 0; i < 700; ++i) {
    const std::string name =
        std::to_string(1000 + i) + std::string(static_cast<std::size_t>(i % 240), 'x') + ".png";
    folder.put("c/" + name, "");
    expected.push_back((folder / ("c/" + name)).string());
  }
  std::ranges::sort(expected);
  const SourcePtr source = open_source(folder.path());
  ASSERT_EQ(source->size(), 700);
  for (std::int64_t i = 0; i < 700; ++i)
    EXPECT_EQ(source->path(i), expected[static_cast<std::size_t>(i)]);
}

}  // namespace
}  // namespace plimsoll
