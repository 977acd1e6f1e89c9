// A scan that several processes share finds what one alone finds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/scan/scan_part.h"
#include "tests/support/image_folder.h"
#include "tests/support/ranks.h"
#include "tests/support/watchdog.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr int kEach = 13;

// Two files that are bad, one that is twice, one that is no BMP.
class SharedScan : public testing::Test {
 protected:
  SharedScan() {
    fs::resize_file(images_.file(0, 3), 60);
    images_.folder().put("c2/05.bmp", "no image");
    fs::copy_file(images_.file(0, 1), images_.file(2, 1), fs::copy_options::overwrite_existing);
    source_ = images_.open();
  }

  // What each of so many ranks reports.
  std::vector<ScanReport> scan_by(int ranks, const SourcePtr& source) {
    std::vector<ScanReport> reports(static_cast<std::size_t>(ranks));
    thrown_ = run_ranks(ranks, [&](dist::Group& group) {
      reports[static_cast<std::size_t>(group.rank())] =
          scan(*source,
               {.workers = 2,
                .together = {
                    .share = group.rank(), .shares = ranks, .gather = [&](const std::string& mine) {
                      return group.gather_texts(mine);
                    }}});
    });
    return reports;
  }
  std::vector<ScanReport> scan_by(int ranks) { return scan_by(ranks, source_); }

  // All of it but who found it and how fast.
  static std::string text_of(const ScanReport& report) {
    std::string text = pack_part(report, {0, std::ssize(report.contents)});
    for (const auto& group : report.duplicates)
      for (const std::int64_t i : group) text += " " + std::to_string(i);
    for (const std::int64_t i : report.duplicates_of_other_class.samples)
      text += "/" + std::to_string(i);
    return text;
  }

  const Watchdog watchdog_;
  const ImageFolder images_{3, kEach};
  SourcePtr source_;
  std::vector<std::string> thrown_;
};

TEST_F(SharedScan, FindsTheSameByAnyNumberOfRanks) {
  const std::string alone = text_of(scan(*source_));
  for (const int ranks : {2, 3, 5, 8})
    for (const ScanReport& report : scan_by(ranks)) {
      EXPECT_EQ(report.samples, 3 * kEach);
      EXPECT_EQ(report.bad.size(), 2U);
      EXPECT_TRUE(text_of(report) == alone) << ranks;
    }
}

TEST_F(SharedScan, ReadsEverySampleOnce) {
  std::vector<std::atomic<int>> reads(3 * kEach);
  const auto tapped = std::make_shared<TappedSource>(
      source_, [&](std::int64_t i) { ++reads[static_cast<std::size_t>(i)]; });
  scan_by(3, tapped);
  for (const std::atomic<int>& count : reads) EXPECT_EQ(count, 1);
}

TEST_F(SharedScan, OfFewerSamplesThanRanksIsWholeToo) {
  const ImageFolder few(2, 1);
  const SourcePtr source = few.open();
  const std::string alone = text_of(scan(*source));
  for (const ScanReport& report : scan_by(5, source)) EXPECT_TRUE(text_of(report) == alone);
}

TEST_F(SharedScan, WhatKeepsOneFromItsShareEndsAll) {
  const auto failing = std::make_shared<TappedSource>(source_, [&](std::int64_t i) {
    if (i == 3 * kEach - 1)
      throw UsageError({.where = "the disk", .got = "is gone", .expected = "expected one"});
  });
  scan_by(3, failing);
  for (const std::string& text : thrown_) EXPECT_THAT(text, HasSubstr("the disk: is gone"));
}

TEST_F(SharedScan, RefusesPartsThatTellOfOtherSamples) {
  const ScanReport report = scan(*source_);
  const std::string whole = pack_part(report, {0, 3 * kEach});
  ScanReport into;
  into.contents.assign(3 * kEach, 0);
  EXPECT_THROW(merge_packed(whole, {0, kEach}, "rank 1", into), DataError);
  for (std::size_t length = 0; length < whole.size(); length += 7)
    EXPECT_THROW(
        merge_packed(std::string_view(whole).substr(0, length), {0, 3 * kEach}, "rank 1", into),
        DataError);
  EXPECT_NO_THROW(merge_packed(whole, {0, 3 * kEach}, "rank 1", into));
}

}  // namespace
}  // namespace plimsoll
