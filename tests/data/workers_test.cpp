// The threads behind a pipeline: how far ahead they read, how many there are, how they end.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/image_folder.h"
#include "tests/support/small_pipeline.h"
#include "tests/support/watchdog.h"

namespace plimsoll {
namespace {

TEST(Workers, StopsAtAnyMoment) {
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

TEST(Workers, ReadsNoFurtherAheadThanItsQueue) {
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

TEST(Workers, TakesMoreWorkersWhenItStarvesAndFewerWhenItDoesNot) {
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

TEST(Workers, SaysSoWhereNoThreadCanBeStarted) {
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

}  // namespace
}  // namespace plimsoll
