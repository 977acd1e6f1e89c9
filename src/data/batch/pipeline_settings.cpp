// What a pipeline is asked to do, and what it would hold.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/cpu.h"
#include "data/batch/picture_cache.h"
#include "data/batch/pipeline.h"
#include "data/batch/pipeline_memory.h"

namespace plimsoll {
namespace {

// A thread's stack as far as decoding touches it, and its part of the allocator's bookkeeping.
constexpr Bytes kPerThread = 96_KiB;

// Pages of libjpeg, libpng, libwebp and zlib, and of ours, that a set of all kinds touches.
constexpr Bytes kDecoders = 2_MiB + 512_KiB;

// Whether a picture is the same in every epoch.
bool is_constant(const PipelineSettings& settings) {
  Augment augment = settings.augment;
  augment.rescale.reset();
  return augment == Augment{};
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
  if (most_boxes < 0) refuse(std::to_string(most_boxes) + " boxes", "expected 0 or more");
  if (most_boxes > 0) check_for_boxes(augment, "data pipeline");
  if (fit == Fit::letterbox && augment.mixup > 0)
    refuse("mixup of pictures of different extents", "expected it with squeezed pictures");
}

Bytes PipelineSettings::cache_bytes(std::int64_t samples) const {
  const Bytes need = PictureCache::bytes(samples, picture_bytes());
  return is_constant(*this) && need <= cache ? need : Bytes{0};
}

std::int64_t PipelineSettings::most_samples() const {
  return window ? std::max<std::int64_t>(1, window_most) : batch;
}

int PipelineSettings::most_workers() const { return workers > 0 ? workers : usable_cores(); }

LargestImage largest_of(const LargestImage& a, const LargestImage& b) {
  return {.decode = std::max(a.decode, b.decode),
          .size = {.height = std::max(a.size.height, b.size.height),
                   .width = std::max(a.size.width, b.size.width)}};
}

LargestImage assume_largest(std::int64_t pixels, int channels) {
  // Four by three, and upright as often as not.
  const auto width =
      static_cast<std::int64_t>(std::ceil(std::sqrt(static_cast<double>(pixels) * 4 / 3)));
  const std::int64_t height = (pixels + width - 1) / width;
  const ImageInfo info{.width = width,
                       .height = height,
                       .stored_width = width,
                       .stored_height = height,
                       // Three channels at full size; what cameras write takes half of it.
                       .row_bytes = Bytes{width * 3 * 12} + 64_KiB};
  return {.decode = decode_bytes(info, {.channels = channels}), .size = {width, width}};
}

PipelineBytes pipeline_bytes(const PipelineSettings& settings, const Index& index,
                             const LargestImage& largest) {
  return {
      .queue = PipelineMemory::slot_bytes(settings),
      .decoders = largest.decode > Bytes{0} ? kDecoders : Bytes{0},
      .worker = PipelineMemory::worker_bytes(settings, index.largest_encoded, largest) + kPerThread,
      .workers = settings.most_workers(),
      .cache = settings.cache_bytes(index.samples),
      .index = index.memory};
}

PipelineBytes shared_bytes(const PipelineBytes& a, const PipelineBytes& b) {
  return {.queue = std::max(a.queue, b.queue),
          .decoders = std::max(a.decoders, b.decoders),
          .worker = std::max(a.worker, b.worker) + kPerThread,
          .workers = std::max(a.workers, b.workers),
          .cache = a.cache + b.cache,
          .index = a.index + b.index};
}

}  // namespace plimsoll
