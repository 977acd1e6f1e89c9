#include "data/pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <new>

#include "base/files.h"
#include "data/memory_source.h"
#include "data/order.h"
#include "data/scan.h"
#include "tests/support/complaints.h"
#include "tests/support/failing_disk.h"
#include "tests/support/image_folder.h"
#include "tests/support/watchdog.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

const LargestImage kLargest = assume_largest(1'000'000, 3);

PipelineSettings small_settings() {
  PipelineSettings settings;
  settings.batch = 4;
  settings.image = {.height = 9, .width = 11};
  settings.seed = 5;
  settings.workers = 2;
  return settings;
}

// What a consumer saw: everything of every batch.
struct Seen {
  std::vector<std::uint8_t> pixels;
  std::vector<std::int64_t> samples;
  std::vector<std::int32_t> labels;
  std::vector<std::int64_t> firsts;

  bool operator==(const Seen&) const = default;
  void add(const Batch& batch) {
    pixels.insert(pixels.end(), batch.pixels.begin(), batch.pixels.end());
    samples.insert(samples.end(), batch.samples.begin(), batch.samples.end());
    labels.insert(labels.end(), batch.labels.begin(), batch.labels.end());
    firsts.push_back(batch.first);
  }
};

Seen read(Pipeline& pipeline, int batches) {
  Seen seen;
  for (int i = 0; i < batches; ++i) seen.add(pipeline.next().value());
  return seen;
}

PipelineSettings with_everything() {
  PipelineSettings settings = small_settings();
  settings.augment = parse_augment(
      "random_resized_crop,horizontal_flip,rotation_range=20,brightness_range=0.5:1.5,mixup=0.4");
  return settings;
}

TEST(Pipeline, GivesTheSameBytesWithAnyNumberOfWorkers) {
  const Watchdog watchdog;
  const ImageFolder images(3, 7);
  Seen first;
  for (const int workers : {1, 2, 8}) {
    PipelineSettings settings = with_everything();
    settings.workers = workers;
    Pipeline pipeline(images.open(), settings, kLargest);
    pipeline.start(0, 0);
    const Seen seen = read(pipeline, 14);
    if (workers == 1)
      first = seen;
    else
      EXPECT_EQ(seen, first) << workers << " workers";
  }
  // Twice over the 21 samples, with a batch of one at the end of each epoch.
  EXPECT_EQ(first.samples.size(), 2U * 21 + 2 * 4);
}

TEST(Pipeline, GivesTheSameBytesFromAnyPosition) {
  const Watchdog watchdog;
  const ImageFolder images(3, 7);
  Pipeline pipeline(images.open(), with_everything(), kLargest);
  pipeline.start(0, 0);
  std::vector<Seen> batches;
  std::vector<std::pair<std::int64_t, std::int64_t>> places;
  for (int i = 0; i < 14; ++i) {
    const Batch batch = pipeline.next().value();
    places.emplace_back(batch.epoch, batch.first);
    batches.emplace_back().add(batch);
  }
  EXPECT_EQ(places[5], (std::pair<std::int64_t, std::int64_t>(0, 20)));
  EXPECT_EQ(places[6], (std::pair<std::int64_t, std::int64_t>(1, 0)));
  for (std::size_t i = 0; i < batches.size(); ++i) {
    pipeline.start(places[i].first, places[i].second);
    EXPECT_EQ(read(pipeline, 1), batches[i]) << i;
  }
}

TEST(Pipeline, ShowsEverySampleOnceAnEpochInTheOrderOfTheSeed) {
  const Watchdog watchdog;
  const ImageFolder images(2, 5);
  Pipeline pipeline(images.open(), small_settings(), kLargest);
  for (const std::int64_t epoch : {0, 3}) {
    pipeline.start(epoch, 0);
    const Seen seen = read(pipeline, 3);
    const Order order = Order::shuffled(10, 5, epoch);
    std::vector<std::int64_t> expected;
    for (std::int64_t k = 0; k < 10; ++k) expected.push_back(order[k]);
    EXPECT_EQ(seen.samples, expected);
    for (std::size_t k = 0; k < 10; ++k) EXPECT_EQ(seen.labels[k], seen.samples[k] / 5);
  }
}

TEST(Pipeline, EndsWhereItDoesNotRepeat) {
  const Watchdog watchdog;
  const ImageFolder images(1, 10);
  PipelineSettings settings = small_settings();
  settings.repeat = false;
  settings.shuffle = false;
  Pipeline whole(images.open(), settings, kLargest);
  EXPECT_EQ(whole.batches_per_epoch(), 3);
  for (int pass = 0; pass < 2; ++pass) {
    whole.start(0, 0);
    EXPECT_THAT(read(whole, 3).samples, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
    EXPECT_FALSE(whole.next());
    EXPECT_FALSE(whole.next());
  }
  settings.drop_last = true;
  Pipeline cut(images.open(), settings, kLargest);
  EXPECT_EQ(cut.batches_per_epoch(), 2);
  cut.start(0, 0);
  EXPECT_EQ(read(cut, 2).samples.size(), 8U);
  EXPECT_FALSE(cut.next());
}

TEST(Pipeline, DropsThePartialBatchOfEveryEpochIfAsked) {
  const Watchdog watchdog;
  const ImageFolder images(1, 10);
  PipelineSettings settings = small_settings();
  settings.drop_last = true;
  Pipeline pipeline(images.open(), settings, kLargest);
  pipeline.start(0, 0);
  EXPECT_THAT(read(pipeline, 5).firsts, ElementsAre(0, 4, 0, 4, 0));
}

TEST(Pipeline, ScalesImagesHeldInMemoryAsItWouldFiles) {
  const Watchdog watchdog;
  Images images{.count = 3, .height = 4, .width = 4, .channels = 1, .class_names = {"a", "b"}};
  for (int i = 0; i < 48; ++i) images.pixels.push_back(static_cast<std::uint8_t>(i * 5));
  images.labels = {0, 1, 0};
  const std::vector<std::uint8_t> pixels = images.pixels;
  const SourcePtr source = make_memory_source(std::move(images), "memory", "test");
  PipelineSettings settings = small_settings();
  settings.image = {.height = 4, .width = 4};
  settings.channels = 1;
  settings.shuffle = false;
  settings.batch = 3;
  Pipeline grey(source, settings, kLargest);
  grey.start(0, 0);
  const Seen seen = read(grey, 1);
  EXPECT_EQ(seen.pixels, pixels);
  EXPECT_THAT(seen.labels, ElementsAre(0, 1, 0));
  settings.channels = 3;
  Pipeline colour(source, settings, kLargest);
  colour.start(0, 0);
  const Seen coloured = read(colour, 1);
  for (std::size_t i = 0; i < pixels.size(); ++i)
    for (std::size_t c = 0; c < 3; ++c) EXPECT_EQ(coloured.pixels[i * 3 + c], pixels[i]);
}

TEST(Pipeline, GivesTheSameBytesFromItsCache) {
  const Watchdog watchdog;
  const ImageFolder images(2, 5);
  PipelineSettings settings = small_settings();
  Pipeline plain(images.open(), settings, kLargest);
  EXPECT_EQ(plain.bytes().cache, 0_B);
  settings.cache = 1_MiB;
  std::atomic<int> reads = 0;
  Pipeline cached(std::make_shared<TappedSource>(images.open(), [&](std::int64_t) { ++reads; }),
                  settings, kLargest);
  EXPECT_GE(cached.bytes().cache, Bytes{10 * 9 * 11 * 3});
  plain.start(0, 0);
  cached.start(0, 0);
  EXPECT_EQ(read(cached, 12), read(plain, 12));
  cached.stop();
  EXPECT_LE(reads, 20);  // the same picture may be made twice before it is there
  settings.cache = 100_B;
  EXPECT_EQ(Pipeline(images.open(), settings, kLargest).bytes().cache, 0_B);
  settings.cache = 1_MiB;
  settings.augment = parse_augment("horizontal_flip");
  EXPECT_EQ(Pipeline(images.open(), settings, kLargest).bytes().cache, 0_B);
}

TEST(Pipeline, MixesWhatItSaysItMixes) {
  const Watchdog watchdog;
  const ImageFolder images(4, 3);
  PipelineSettings settings = small_settings();
  settings.batch = 12;
  settings.augment = parse_augment("mixup=1");
  Pipeline pipeline(images.open(), settings, kLargest);
  pipeline.start(0, 0);
  const Batch batch = pipeline.next().value();
  ASSERT_EQ(batch.other_labels.size(), 12U);
  float most = 0;
  for (const float share : batch.other_shares) {
    EXPECT_GE(share, 0);
    EXPECT_LE(share, 0.5F);
    most = std::max(most, share);
  }
  EXPECT_GT(most, 0.1F);
}

// What bad files do. Each change is made while workers are in the middle of things.
struct Damage {
  const char* name;
  std::function<void(const fs::path&)> apply;
  const char* says;
};
const std::vector<Damage>& damages() {
  static const std::vector<Damage> all = {
      {"removed", [](const fs::path& p) { fs::remove(p); }, "cannot open"},
      {"truncated", [](const fs::path& p) { fs::resize_file(p, 60); }, "c0/03.bmp"},
      {"emptied", [](const fs::path& p) { fs::resize_file(p, 0); }, "c0/03.bmp"},
      {"replaced by a folder",
       [](const fs::path& p) {
         fs::remove(p);
         fs::create_directory(p);
       },
       "c0/03.bmp"},
      {"replaced by a huge image",
       [](const fs::path& p) {
         write_file(p, bmp_image(16, 12, 1).replace(18, 4, "\xFF\xFF\0\0", 4));
       },
       "c0/03.bmp"}};
  return all;
}

TEST(Pipeline, StopsAtAFileThatGoesBadAndNamesIt) {
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

TEST(Pipeline, GoesOnWithoutAFileThatGoesBadAndTellsOnce) {
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
TEST(Pipeline, NamesTheRecordWhenAShardGoesBad) {
  const Watchdog watchdog;
  const std::vector<Damage> ways = {
      {"removed", [](const fs::path& p) { fs::remove(p); }, "cannot open"},
      {"truncated", [](const fs::path& p) { fs::resize_file(p, 60); }, "the file has 60 bytes"},
      {"replaced by a folder",
       [](const fs::path& p) {
         fs::remove(p);
         fs::create_directory(p);
       },
       "is a folder"},
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

TEST(Pipeline, DoesNotTryForeverWhenTheDiskIsGone) {
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

TEST(Pipeline, StopsAtADiskThatFailsOrGoesOnWithoutTheFile) {
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

TEST(Pipeline, PassesOnWhateverAWorkerThrows) {
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

TEST(Pipeline, ReportsTheFirstBadSampleInOrderWhoeverIsFaster) {
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

TEST(Pipeline, StopsAtAnyMoment) {
  const Watchdog watchdog;
  const ImageFolder images(2, 10);
  for (int after = 0; after < 20; ++after) {
    Pipeline pipeline(images.open(), small_settings(), kLargest);
    if (after == 0) continue;  // never started
    pipeline.start(0, 0);
    read(pipeline, after % 7);
    if (after % 2 == 0) pipeline.stop();
    if (after % 4 == 0) {
      pipeline.start(1, after % 20);
      read(pipeline, 1);
    }
  }
}

TEST(Pipeline, ReadsNoFurtherAheadThanItsQueue) {
  const Watchdog watchdog;
  const ImageFolder images(4, 20);
  std::atomic<int> reads = 0;
  const auto source = std::make_shared<TappedSource>(images.open(), [&](std::int64_t) { ++reads; });
  PipelineSettings settings = small_settings();
  settings.depth = 2;
  Pipeline pipeline(source, settings, kLargest);
  pipeline.start(0, 0);
  const auto settle = [&] {
    int before = -1;
    while (before != reads) {
      before = reads;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return before;
  };
  EXPECT_EQ(settle(), 8);  // two batches
  pipeline.next();
  EXPECT_EQ(settle(), 8);  // the consumer still has the first
  pipeline.next();
  EXPECT_EQ(settle(), 12);
}

TEST(Pipeline, TakesMoreWorkersWhenItStarvesAndFewerWhenItDoesNot) {
  const Watchdog watchdog;
  const ImageFolder images(2, 20);
  std::atomic<int> milliseconds = 0;
  const auto source = std::make_shared<TappedSource>(images.open(), [&](std::int64_t) {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds.load()));
  });
  PipelineSettings settings = small_settings();
  settings.workers = 4;
  Pipeline pipeline(source, settings, kLargest);
  pipeline.start(0, 0);
  EXPECT_EQ(pipeline.workers(), 4);
  // A slow consumer: workers go to sleep one by one.
  for (int i = 0; i < 200 && pipeline.workers() > 1; ++i) {
    pipeline.next();
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
  }
  EXPECT_EQ(pipeline.workers(), 1);
  const double waited = pipeline.wait_seconds();
  // A fast one, and slow reading: all are called.
  milliseconds = 5;
  for (int i = 0; i < 30; ++i) pipeline.next();
  EXPECT_EQ(pipeline.workers(), 4);
  EXPECT_GT(pipeline.wait_seconds(), waited);
}

TEST(Pipeline, SaysSoWhereNoThreadCanBeStarted) {
  const ImageFolder images(1, 2);
  const SourcePtr source = images.open();
  const pid_t child = ::fork();
  if (child == 0) {
    // Limits of processes do not bind the superuser.
    const struct rlimit none {};
    if (::setgid(65534) != 0 || ::setuid(65534) != 0 || ::setrlimit(RLIMIT_NPROC, &none) != 0)
      ::_exit(2);
    int told = 0;
    try {
      const Pipeline pipeline(source, small_settings(), kLargest);
    } catch (const DataError& error) {
      told += error.complaint().got.starts_with("cannot start a thread") ? 1 : 0;
    }
    try {
      scan(*source);
    } catch (const DataError& error) {
      told += error.complaint().got.starts_with("cannot start a thread") ? 1 : 0;
    }
    ::_exit(told == 2 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 2) GTEST_SKIP() << "no right to give up rights";
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(Pipeline, RefusesSettingsThatMakeNoSense) {
  const ImageFolder images(1, 2);
  const auto expect_refusal = [&](auto change, const char* text) {
    PipelineSettings settings = small_settings();
    change(settings);
    EXPECT_COMPLAINT(Pipeline(images.open(), settings, kLargest), UsageError, text);
  };
  expect_refusal([](auto& s) { s.batch = 0; }, "a batch of 0");
  expect_refusal([](auto& s) { s.channels = 2; }, "2 channels");
  expect_refusal([](auto& s) { s.depth = 1; }, "a queue of 1");
  expect_refusal([](auto& s) { s.image = {}; }, "no size");
  expect_refusal([](auto& s) { s.workers = 5000; }, "5000 workers");
}

TEST(PipelineBytes, GrowWithEverythingThatIsHeld) {
  const ImageFolder images(2, 5);
  const Index index = images.open()->index();
  PipelineSettings settings = small_settings();
  const PipelineBytes base = pipeline_bytes(settings, index, kLargest);
  EXPECT_EQ(base.queue, Bytes{3 * 4 * (9 * 11 * 3 + 12)});
  EXPECT_EQ(base.total(), base.queue + base.workers + base.index);
  EXPECT_GE(base.workers, 2 * kLargest.decode);
  settings.workers = 4;
  EXPECT_EQ(pipeline_bytes(settings, index, kLargest).workers, 2 * base.workers);
  EXPECT_GT(assume_largest(16'000'000, 3).decode, 48_MiB);
}

}  // namespace
}  // namespace plimsoll
