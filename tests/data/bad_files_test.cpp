// Files that go bad while an epoch is under way: each change is made while workers are in the
// middle of things.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <new>

#include "base/files.h"
#include "tests/support/complaints.h"
#include "tests/support/failing_disk.h"
#include "tests/support/image_folder.h"
#include "tests/support/small_pipeline.h"
#include "tests/support/watchdog.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

struct Damage {
  const char* name;
  std::function<void(const fs::path&)> apply;
  const char* says;
};

void remove_file(const fs::path& path) { fs::remove(path); }

void truncate_file(const fs::path& path) { fs::resize_file(path, 60); }

void replace_by_folder(const fs::path& path) {
  fs::remove(path);
  fs::create_directory(path);
}

const std::vector<Damage>& damages() {
  static const std::vector<Damage> all = {
      {"removed", remove_file, "cannot open"},
      {"truncated", truncate_file, "c0/03.bmp"},
      {"emptied", [](const fs::path& p) { fs::resize_file(p, 0); }, "c0/03.bmp"},
      {"replaced by a folder", replace_by_folder, "c0/03.bmp"},
      {"replaced by a huge image",
       [](const fs::path& p) {
         write_file(p, bmp_image(16, 12, 1).replace(18, 4, "\xFF\xFF\0\0", 4));
       },
       "c0/03.bmp"}};
  return all;
}

TEST(BadFiles, StopsAtAFileThatGoesBadAndNamesIt) {
  const Watchdog watchdog;
  for (const Damage& damage : damages()) {
    SCOPED_TRACE(damage.name);
    const ImageFolder images(2, 10);
    PipelineSettings settings = small_settings();
    settings.shuffle = false;
    Pipeline pipeline(images.open(), settings, kLargest);
    pipeline.start(0, 0);
    read(pipeline, 5);
    damage.apply(images.file(0, 3));
    const auto read_on = [&] { read(pipeline, 20); };
    EXPECT_COMPLAINT(read_on(), DataError, damage.says);
    EXPECT_COMPLAINT(read_on(), DataError, "c0/03.bmp");
    pipeline.start(0, 4);
    EXPECT_EQ(read(pipeline, 1).samples[0], 4);
  }
}

TEST(BadFiles, GoesOnWithoutAFileThatGoesBadAndTellsOnce) {
  const Watchdog watchdog;
  for (const Damage& damage : damages()) {
    SCOPED_TRACE(damage.name);
    const ImageFolder images(2, 10);
    const SourcePtr source = images.open();
    std::vector<std::string> told;
    PipelineSettings settings = small_settings();
    settings.shuffle = false;
    settings.bad_files = BadFiles::skip;
    settings.on_bad = [&](const Complaint& complaint) { told.push_back(complaint.where); };
    Pipeline pipeline(source, settings, kLargest);
    damage.apply(images.file(0, 3));
    pipeline.start(0, 0);
    const Seen seen = read(pipeline, 15);
    EXPECT_THAT(std::vector(seen.samples.begin(), seen.samples.begin() + 5),
                ElementsAre(0, 1, 2, 4, 4));
    ASSERT_EQ(told.size(), 1U);
    EXPECT_THAT(told[0], HasSubstr("c0/03.bmp"));
    // The same with another number of workers.
    settings.workers = 1;
    settings.on_bad = {};
    Pipeline alone(source, settings, kLargest);
    alone.start(0, 0);
    EXPECT_EQ(read(alone, 15), seen);
  }
}

// The same for a shard, whose records are named by number and byte.
TEST(BadFiles, NamesTheRecordWhenAShardGoesBad) {
  const Watchdog watchdog;
  const std::vector<Damage> ways = {{"removed", remove_file, "cannot open"},
                                    {"truncated", truncate_file, "the file has 60 bytes"},
                                    {"replaced by a folder", replace_by_folder, "is a folder"},
                                    {"on a disk that fails", {}, "Input/output error"}};
  for (const Damage& damage : ways) {
    SCOPED_TRACE(damage.name);
    const TemporaryFolder folder;
    std::string shard;
    std::size_t second = 0;
    for (unsigned i = 0; i < 6; ++i) {
      if (i == 1) second = shard.size();
      shard += framed(ExampleText()
                          .bytes("image/encoded", {bmp_image(16, 12, i)})
                          .ints("image/class/label", {i % 2})
                          .text());
    }
    folder.put("a.tfrecord", shard);
    const fs::path path = folder.put("b.tfrecord", shard);
    PipelineSettings settings = small_settings();
    settings.shuffle = false;
    Pipeline pipeline(open_source(folder.path()), settings, kLargest);
    pipeline.start(0, 0);
    read(pipeline, 4);
    std::optional<FailingDisk> disk;
    if (damage.apply)
      damage.apply(path);
    else
      disk.emplace(path);
    pipeline.start(0, 7);
    const std::string named = "b.tfrecord, record 1 at byte " + std::to_string(second) + ": ";
    EXPECT_COMPLAINT(pipeline.next(), DataError, named);
    EXPECT_COMPLAINT(pipeline.next(), DataError, damage.says);
    pipeline.start(0, 0);
    EXPECT_EQ(read(pipeline, 1).samples[3], 3);
  }
}

TEST(BadFiles, DoesNotTryForeverWhenTheDiskIsGone) {
  const Watchdog watchdog;
  const ImageFolder images(1, 5);
  PipelineSettings settings = small_settings();
  settings.bad_files = BadFiles::skip;
  const SourcePtr source = images.open();
  Pipeline pipeline(source, settings, kLargest);
  fs::remove_all(images.folder() / "c0");
  pipeline.start(0, 0);
  EXPECT_COMPLAINT(pipeline.next(), DataError, "look at the disk");
}

TEST(BadFiles, StopsAtADiskThatFailsOrGoesOnWithoutTheFile) {
  const Watchdog watchdog;
  const ImageFolder images(1, 10);
  PipelineSettings settings = small_settings();
  settings.shuffle = false;
  Pipeline stopping(images.open(), settings, kLargest);
  std::vector<std::string> told;
  settings.bad_files = BadFiles::skip;
  settings.on_bad = [&](const Complaint& complaint) { told.push_back(complaint.got); };
  Pipeline going_on(images.open(), settings, kLargest);
  const FailingDisk disk(images.file(0, 6));
  stopping.start(0, 0);
  read(stopping, 1);
  EXPECT_COMPLAINT(stopping.next(), DataError, "c0/06.bmp: cannot read byte 0: Input/output error");
  going_on.start(0, 0);
  EXPECT_THAT(read(going_on, 3).samples, ElementsAre(0, 1, 2, 3, 4, 5, 7, 7, 8, 9));
  EXPECT_THAT(told, ElementsAre("cannot read byte 0: Input/output error"));
}

TEST(BadFiles, PassesOnWhateverAWorkerThrows) {
  const Watchdog watchdog;
  const ImageFolder images(1, 10);
  const auto source = std::make_shared<TappedSource>(images.open(), [](std::int64_t i) {
    if (i == 2) throw std::bad_alloc();
  });
  PipelineSettings settings = small_settings();
  settings.bad_files = BadFiles::skip;  // which is about files, not about this
  Pipeline pipeline(source, settings, kLargest);
  pipeline.start(0, 0);
  EXPECT_THROW(read(pipeline, 3), std::bad_alloc);
}

TEST(BadFiles, ReportsTheFirstBadSampleInOrderWhoeverIsFaster) {
  const Watchdog watchdog;
  const ImageFolder images(1, 8);
  const auto source = std::make_shared<TappedSource>(images.open(), [](std::int64_t i) {
    if (i == 1) std::this_thread::sleep_for(std::chrono::milliseconds(30));
    if (i == 1 || i == 3) throw_file_error("file " + std::to_string(i), "cannot read", EIO);
  });
  PipelineSettings settings = small_settings();
  settings.shuffle = false;
  settings.workers = 4;
  Pipeline pipeline(source, settings, kLargest);
  pipeline.start(0, 0);
  EXPECT_COMPLAINT(pipeline.next(), DataError, "file 1");
}

}  // namespace
}  // namespace plimsoll
