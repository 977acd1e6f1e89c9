#include "data/scan/scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/memory_usage.h"
#include "tests/support/allocation_counter.h"
#include "tests/support/complaints.h"
#include "tests/support/image_folder.h"
#include "tests/support/shared_data.h"
#include "tests/support/watchdog.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

std::vector<Complaint> complaints(const ScanReport& report) {
  std::vector<Complaint> found;
  for (const BadSample& sample : report.bad) found.push_back(sample.complaint);
  return found;
}

TEST(Scan, ListsEveryBadFileAndWhy) {
  const ImageFolder images(2, 10);
  fs::resize_file(images.file(0, 3), 60);
  fs::resize_file(images.file(1, 0), 0);
  images.folder().put("c1/05.bmp", "no image");
  const ScanReport report = scan(*images.open());
  EXPECT_EQ(report.samples, 20);
  ASSERT_EQ(report.bad.size(), 3U);
  EXPECT_EQ(report.bad[0].sample, 3);
  EXPECT_EQ(report.bad[1].sample, 10);
  EXPECT_EQ(report.bad[2].sample, 15);
  EXPECT_THAT(report.bad[0].complaint.where, HasSubstr("c0/03.bmp"));
  EXPECT_THAT(report.formats, ElementsAre(Pair("BMP", 17)));
  for (const char* name : {"c0/03.bmp", "c1/00.bmp", "c1/05.bmp"})
    EXPECT_THAT(bad_files_text(complaints(report)), HasSubstr(name));
}

TEST(Scan, RefusesAHugeImageByItsHeader) {
  const ImageFolder images(1, 3);
  // A header that tells of 32,000 x 32,000 pixels in a file of 54 bytes.
  images.folder().put("c0/01.bmp",
                      bmp_image(16, 12, 1).substr(0, 54).replace(18, 8, "\0\x7D\0\0\0\x7D\0\0", 8));
  const SourcePtr source = images.open();
  ScanReport report;
  const std::int64_t peak = peak_of_allocations([&] { report = scan(*source, {.workers = 1}); });
  ASSERT_EQ(report.bad.size(), 1U);
  EXPECT_THAT(report.bad[0].complaint.got, HasSubstr("an image of 32000x32000 pixels"));
  EXPECT_LT(peak, 4 << 20);
}

TEST(Scan, FindsTheSameWithAnyNumberOfWorkers) {
  const ImageFolder images(3, 20);
  fs::resize_file(images.file(1, 3), 60);
  fs::copy_file(images.file(0, 1), images.file(2, 1), fs::copy_options::overwrite_existing);
  const SourcePtr source = images.open();
  const auto text_of = [&](int workers) {
    const ScanReport report = scan(*source, {.workers = workers});
    std::string text = bad_files_text(complaints(report));
    for (const auto& group : report.duplicates)
      for (const std::int64_t i : group) text += std::to_string(i) + " ";
    for (const auto& [i, size] : report.biggest) text += "/" + std::to_string(i);
    return text + std::to_string(report.largest.decode.count);
  };
  EXPECT_EQ(text_of(1), text_of(4));
}

TEST(Scan, FindsTheSameInAnyMemoryThatHoldsItsLargestPicture) {
  const Watchdog watchdog;
  const ImageFolder images(3, 20);
  fs::resize_file(images.file(1, 3), 60);
  const SourcePtr source = images.open();
  const ScanReport free = scan(*source, {.workers = 4});
  // One image at a time, some, all.
  const Bytes one = source->index().largest_encoded + free.largest.decode;
  for (const Bytes memory : {one, one * 3, 1_GiB}) {
    const ScanReport report = scan(*source, {.workers = 4, .memory = memory});
    EXPECT_EQ(report.contents, free.contents);
    EXPECT_EQ(report.bad.size(), 1U);
    EXPECT_EQ(report.largest.decode, free.largest.decode);
  }
}

TEST(Scan, OfEverLargerFilesHoldsTheLargestAlone) {
  if (!allocations_are_counted()) GTEST_SKIP() << "sanitizers own malloc";
  const TemporaryFolder folder;
  for (int i = 0; i < 8; ++i)
    folder.put("c0/" + std::to_string(i) + ".bmp",
               bmp_image(600, 200 * (i + 1), static_cast<unsigned>(i)));
  const SourcePtr source = open_source(folder.path().string());
  const std::int64_t peak =
      peak_of_allocations([&] { scan(*source, {.workers = 1, .pixels = false}); });
  EXPECT_LT(Bytes{peak}, source->index().largest_encoded + 512_KiB);
}

// malloc keeps what a thread has freed; files are not to stay with the process after they were
// read.
TEST(Scan, OfLargeFilesLeavesNothingOfThemBehind) {
  if (!allocations_are_counted()) GTEST_SKIP() << "sanitizers own malloc";
  const TemporaryFolder folder;
  for (int i = 0; i < 3; ++i)
    folder.put("c0/" + std::to_string(i) + ".bmp", bmp_image(2400, 1600, static_cast<unsigned>(i)));
  const SourcePtr source = open_source(folder.path().string());
  const Bytes before = memory_usage().resident;
  for (int round = 0; round < 3; ++round) scan(*source, {.workers = 2, .pixels = false});
  release_free_memory();
  EXPECT_LT(memory_usage().resident, before + 2_MiB);
}

TEST(Scan, NamesEveryPictureThatDoesNotFitItsMemoryAndWhatItNeeds) {
  const ImageFolder images(2, 4);
  const SourcePtr source = images.open();
  const ScanReport report = scan(*source, {.workers = 2, .memory = 1_B});
  ASSERT_EQ(report.bad.size(), 8U);
  for (const BadSample& sample : report.bad) {
    EXPECT_TRUE(sample.does_not_fit);
    EXPECT_THAT(sample.complaint.got, AllOf(HasSubstr(" MP: "), HasSubstr(" to decode, 0 B left")));
  }
  EXPECT_EQ(report.largest.decode, 0_B);
}

TEST(Scan, FindsDuplicatesAndThoseWithAnotherLabel) {
  const ImageFolder images(2, 4);
  const auto copy = [&](int c, int i, int to_c, int to_i) {
    fs::copy_file(images.file(c, i), images.file(to_c, to_i), fs::copy_options::overwrite_existing);
  };
  copy(0, 0, 0, 2);
  copy(0, 1, 1, 3);
  const ScanReport report = scan(*images.open());
  EXPECT_THAT(report.duplicates, ElementsAre(ElementsAre(0, 2), ElementsAre(1, 7)));
  EXPECT_THAT(report.duplicates_of_other_class.samples, ElementsAre(1, 7));
}

TEST(Scan, DoesNotCallBadFilesCopiesOfEachOther) {
  const ImageFolder images(2, 4);
  fs::resize_file(images.file(0, 1), 0);
  fs::resize_file(images.file(1, 2), 0);
  const ScanReport report = scan(*images.open());
  EXPECT_EQ(report.bad.size(), 2U);
  EXPECT_TRUE(report.duplicates.empty());
}

TEST(Scan, FindsLeaks) {
  const ImageFolder train(2, 4);
  const TemporaryFolder folder;
  folder.put("c0/new.bmp", bmp_image(9, 9, 99));
  folder.put("c0/old.bmp", read_file(train.file(1, 1), 1_MiB));
  const SourcePtr validation = open_source(folder.path());
  EXPECT_THAT(find_leaks(scan(*train.open()), scan(*validation)), ElementsAre(Pair(1, 5)));
}

TEST(Scan, NoticesNamesThatPromiseAnotherFormat) {
  const TemporaryFolder folder;
  folder.put("a/1.jpg", bmp_image(9, 9, 1));
  folder.put("a/2.bmp", bmp_image(9, 9, 2));
  const ScanReport report = scan(*open_source(folder.path()));
  EXPECT_TRUE(report.bad.empty());
  EXPECT_THAT(report.wrong_extension.samples, ElementsAre(0));
}

TEST(Scan, BoundsWhatAPipelineMeets) {
  const ImageFolder images(2, 10);
  const SourcePtr source = images.open();
  const ScanReport report = scan(*source);
  EXPECT_EQ(report.largest.size, (Size{.height = 16, .width = 22}));
  PipelineSettings settings{.batch = 5, .image = {.height = 8, .width = 8}};
  Pipeline pipeline(source, settings, report.largest);
  pipeline.start(0, 0);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(pipeline.next());
}

TEST(Scan, CanBeStopped) {
  const ImageFolder images(2, 20);
  const auto slow = std::make_shared<TappedSource>(images.open(), [](std::int64_t) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  });
  const ScanReport report =
      scan(*slow, {.workers = 1, .progress = [](const ScanProgress&) { return false; }});
  EXPECT_FALSE(report.is_whole);
  EXPECT_LT(report.samples, 40);
}

TEST(Scan, LeavesTheGoodOnesInTheirOrder) {
  const ImageFolder images(2, 3);
  fs::resize_file(images.file(0, 1), 0);
  const SourcePtr source = images.open();
  const SourcePtr good = without_bad(source, scan(*source));
  EXPECT_EQ(good->size(), 5);
  EXPECT_EQ(good->number(1), 2);
  EXPECT_THAT(good->index().per_class, ElementsAre(2, 3));
}

TEST(Scan, OfBoxesTellsWhichAreWrong) {
  const TemporaryFolder folder;
  const auto box = [](float x0, float y0, float x1, float y1) {
    return framed(ExampleText()
                      .bytes("image/encoded", {bmp_image(20, 10, 1)})
                      .ints("image/width", {20})
                      .ints("image/height", {10})
                      .floats("image/object/bbox/xmin", {x0})
                      .floats("image/object/bbox/xmax", {x1})
                      .floats("image/object/bbox/ymin", {y0})
                      .floats("image/object/bbox/ymax", {y1})
                      .ints("image/object/class/label", {1})
                      .text());
  };
  folder.put("x.record", box(0, 0, 1, 1) + box(0.5F, 0, 0.2F, 1) + box(0.5F, 0, 0.5F, 1) +
                             box(0, 0, 1.2F, 1) + box(0, 0, 1.001F, 1));
  const ScanReport report = scan(*open_source(folder.path()));
  EXPECT_THAT(report.inverted.samples, ElementsAre(1));
  EXPECT_THAT(report.empty.samples, ElementsAre(2));
  EXPECT_THAT(report.outside.samples, ElementsAre(3));
  EXPECT_EQ(report.other_size.count, 0);
}

TEST(Scan, OfRealPhotographsFindsNothingWrong) {
  SHARED_DATA_OR_SKIP(flowers, "flowers5");
  const ScanReport report = scan(*open_source(flowers));
  EXPECT_EQ(report.samples, 200);
  EXPECT_TRUE(report.bad.empty()) << bad_files_text(complaints(report));
  EXPECT_THAT(report.formats, ElementsAre(Pair("JPEG", 200)));
}

TEST(Scan, OfOddImagesNamesTheDamagedOnes) {
  SHARED_DATA_OR_SKIP(folder, "odd-images");
  const SourcePtr source = open_source(folder);
  const ScanReport report = scan(*source);
  for (const BadSample& bad : report.bad)
    EXPECT_THAT(bad.complaint.where, testing::AnyOf(HasSubstr("damaged/"), HasSubstr("lossless")));
  EXPECT_GE(report.bad.size(), 5U);
  EXPECT_EQ(report.turned.count, 7);
}

}  // namespace
}  // namespace plimsoll
