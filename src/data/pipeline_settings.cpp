// What a pipeline is asked to do, and what it would hold.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/cpu.h"
#include "data/pipeline.h"

namespace plimsoll {
namespace {

// A thread's stack as far as decoding touches it, and its part of the allocator's bookkeeping.
constexpr Bytes kPerThread = 256_KiB;

// Whether a picture is the same in every epoch.
bool is_constant(const PipelineSettings& settings) {
  Augment augment = settings.augment;
  augment.rescale.reset();
  return augment == Augment{};
}

Bytes cache_bytes(const PipelineSettings& settings, std::int64_t samples) {
  const Bytes need{samples * (settings.picture_bytes() + 1)};
  return is_constant(settings) && need <= settings.cache ? need : Bytes{0};
}

}  // namespace

void PipelineSettings::check() const {
  const auto refuse = [](std::string got, std::string expected) {
    throw UsageError(
        {.where = "data pipeline", .got = std::move(got), .expected = std::move(expected)});
  };
  if (batch < 1) refuse("a batch of " + std::to_string(batch), "expected at least 1");
  if (depth < 2) refuse("a queue of " + std::to_string(depth), "expected at least 2 batches");
  if (channels != 1 && channels != 3)
    refuse(std::to_string(channels) + " channels", "expected 1 or 3");
  if (image.height < 1 || image.width < 1) refuse("an image of no size", "expected at least 1x1");
  if (workers < 0 || workers > kMaxThreads)
    refuse(std::to_string(workers) + " workers", "expected 0 to " + std::to_string(kMaxThreads));
}

int PipelineSettings::most_workers() const { return workers > 0 ? workers : usable_cores(); }

LargestImage assume_largest(std::int64_t pixels, int channels) {
  const auto side = static_cast<std::int64_t>(std::ceil(std::sqrt(static_cast<double>(pixels))));
  const ImageInfo info{.width = side,
                       .height = side,
                       .stored_width = side,
                       .stored_height = side,
                       .is_progressive = true,
                       // Coefficients of 16 bits for each of three channels.
                       .whole_image_bytes = Bytes{side * side * 6}};
  // A photograph may be long and narrow.
  return {.decode = decode_bytes(info, {.channels = channels}), .size = {side * 2, side * 2}};
}

PipelineBytes pipeline_bytes(const PipelineSettings& settings, const Index& index,
                             const LargestImage& largest) {
  const std::int64_t picture = settings.picture_bytes();
  const bool mixes = settings.augment.mixup > 0;
  const Bytes slot{settings.batch * (picture + std::int64_t{sizeof(std::int32_t)} +
                                     std::int64_t{sizeof(std::int64_t)} + (mixes ? 8 : 0))};
  const Bytes worker =
      index.largest_encoded + largest.decode +
      Transformer::bytes(settings.image, settings.channels, settings.interpolation, largest.size) +
      Bytes{mixes ? picture : 0} + kPerThread;
  return {.queue = slot * settings.depth,
          .workers = worker * settings.most_workers(),
          .cache = cache_bytes(settings, index.samples),
          .index = index.memory};
}

PipelineSettings fit_pipeline(PipelineSettings settings, const Index& index,
                              const LargestImage& largest, Bytes limit) {
  const auto fits = [&] { return pipeline_bytes(settings, index, largest).total() <= limit; };
  settings.workers = settings.most_workers();
  if (!fits()) settings.cache = Bytes{0};
  // A worker that waits for room in the queue costs less than a worker that is missing.
  while (!fits() && settings.depth > 2) --settings.depth;
  while (!fits() && settings.workers > 1) --settings.workers;
  if (!fits())
    throw BudgetError({.where = "input buffers",
                       .got = "one worker and two batches take " +
                              to_string(pipeline_bytes(settings, index, largest).total()),
                       .expected = "expected at most " + to_string(limit),
                       .hint = "a smaller batch, or smaller pictures, need less"});
  return settings;
}

}  // namespace plimsoll
