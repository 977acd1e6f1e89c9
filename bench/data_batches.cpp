// Reads a data set, shuffled, to batches, as a training run does, and says what that took.
//   data_batches DATA [--batches N] [--batch N] [--image N] [--memory BYTES] [--workers N]
//                     [--speed IMAGES_PER_SECOND]
// --memory bounds the buffers: the scan's and then the pipeline's. --speed is that of a network
// which takes the batches; without it they are taken as fast as they come. Prints one line of JSON.
#include <malloc.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <string>
#include <thread>

#include "base/base.h"
#include "data/data.h"

using namespace plimsoll;

namespace {

struct Settings {
  std::string data;
  std::int64_t batches = 0;  // 0: one epoch
  std::int64_t batch = 32;
  std::int64_t image = 299;
  Bytes memory = kUnlimited;
  int workers = 0;
  double speed = 0;
};

Settings parse(int count, char** words) {
  Settings settings;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    const auto value = [&] { return i + 1 < count ? std::string(words[++i]) : std::string(); };
    if (word == "--batches")
      settings.batches = std::stoll(value());
    else if (word == "--batch")
      settings.batch = std::stoll(value());
    else if (word == "--image")
      settings.image = std::stoll(value());
    else if (word == "--memory")
      settings.memory = parse_bytes(value(), "--memory");
    else if (word == "--workers")
      settings.workers = std::stoi(value());
    else if (word == "--speed")
      settings.speed = std::stod(value());
    else
      settings.data = word;
  }
  return settings;
}

void run(const Settings& settings) {
  const SourcePtr source = open_source(settings.data);
  const Stopwatch scan_watch;
  const ScanReport report = scan(
      *source,
      {.workers = settings.workers, .pixels = false, .memory = settings.memory, .progress = {}});
  const double scan_seconds = scan_watch.seconds();
  PipelineSettings pipeline_settings{
      .batch = settings.batch,
      .image = {.height = settings.image, .width = settings.image},
      .augment = parse_augment("random_resized_crop,horizontal_flip"),
      .workers = settings.workers};
  pipeline_settings.workers = pipeline_settings.most_workers();
  const auto predicted = [&] {
    return pipeline_bytes(pipeline_settings, source->index(), report.largest).total();
  };
  while (pipeline_settings.workers > 1 && predicted() > settings.memory)
    --pipeline_settings.workers;
  Pipeline pipeline(source, pipeline_settings, report.largest);
  pipeline.start(0, 0);
  const std::int64_t batches =
      settings.batches > 0 ? settings.batches : pipeline.batches_per_epoch();
  const Stopwatch watch;
  std::int64_t images = 0;
  std::uint64_t sum = 0;
  double first_wait = 0;
  for (std::int64_t i = 0; i < batches; ++i) {
    const Batch batch = pipeline.next().value();
    images += batch.count;
    for (const std::uint8_t pixel : batch.pixels) sum += pixel;
    // The first batch is waited for by everybody.
    if (i == 0) first_wait = pipeline.wait_seconds();
    if (settings.speed > 0)
      std::this_thread::sleep_for(
          std::chrono::duration<double>(static_cast<double>(batch.count) / settings.speed));
  }
  const double seconds = watch.seconds();
  const double waited = pipeline.wait_seconds() - first_wait;
  const MemoryUsage usage = memory_usage();
  std::printf(
      "{\"samples\": %lld, \"scan_seconds\": %.2f, \"images\": %lld, \"images_per_second\": %.1f, "
      "\"wait_percent\": %.2f, \"predicted_bytes\": %lld, \"peak_bytes\": %lld, \"workers\": %d, "
      "\"depth\": %d, "
      "\"sum\": %llu}\n",
      static_cast<long long>(source->size()), scan_seconds, static_cast<long long>(images),
      static_cast<double>(images) / seconds, 100 * waited / seconds,
      static_cast<long long>(predicted().count), static_cast<long long>(usage.peak().count),
      pipeline_settings.workers, pipeline_settings.depth, static_cast<unsigned long long>(sum));
}

}  // namespace

int main(int count, char** words) {
  // Large buffers go back to the system when they are freed, not to a heap that keeps them.
  ::mallopt(M_MMAP_THRESHOLD, 256 * 1024);
  ::mallopt(M_ARENA_MAX, 2);
  try {
    run(parse(count, words));
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "data_batches: %s\n", error.what());
    return 1;
  }
}
