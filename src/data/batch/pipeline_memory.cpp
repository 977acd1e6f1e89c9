#include "data/batch/pipeline_memory.h"

namespace plimsoll {

namespace {

// How many of each thing a slot has.
struct Counts {
  explicit Counts(const PipelineSettings& settings)
      : batch(settings.most_samples()),
        mixed(settings.augment.mixup > 0 ? batch : 0),
        placed(settings.places() ? batch : 0),
        boxed(settings.most_boxes > 0 ? batch : 0),
        boxes(batch * settings.most_boxes) {}

  std::int64_t batch, mixed, placed, boxed, boxes;
};

template <class T>
std::int64_t array_bytes(std::int64_t count) {
  return Room::rounded(count * std::int64_t{sizeof(T)});
}

}  // namespace

Bytes PipelineMemory::slot_bytes(const PipelineSettings& settings) {
  const Counts counts(settings);
  return Bytes{array_bytes<std::uint8_t>(counts.batch * settings.picture_bytes()) +
               array_bytes<std::int32_t>(counts.batch) + array_bytes<std::int64_t>(counts.batch) +
               array_bytes<std::int32_t>(counts.mixed) + array_bytes<float>(counts.mixed) +
               array_bytes<CanvasPlacement>(counts.placed) +
               array_bytes<std::int32_t>(counts.boxed) + array_bytes<PlacedBox>(counts.boxes)} *
         settings.depth;
}

bool PipelineMemory::Slot::holds(const PipelineSettings& settings) const {
  const Counts counts(settings);
  const auto fits = [](auto span, std::int64_t count) { return std::ssize(span) >= count; };
  return fits(pixels, counts.batch * settings.picture_bytes()) && fits(labels, counts.batch) &&
         fits(samples, counts.batch) && fits(other_labels, counts.mixed) &&
         fits(other_shares, counts.mixed) && fits(placements, counts.placed) &&
         fits(box_counts, counts.boxed) && fits(boxes, counts.boxes);
}

Bytes PipelineMemory::room_bytes(const PipelineSettings& settings, const LargestImage& largest) {
  const Bytes other{settings.augment.mixup > 0 ? Room::rounded(settings.picture_bytes()) : 0};
  return other + largest.decode +
         Transformer::bytes(settings.image, settings.channels, settings.interpolation, largest.size,
                            settings.fit);
}

Bytes PipelineMemory::worker_bytes(const PipelineSettings& settings, Bytes largest_encoded,
                                   const LargestImage& largest) {
  return room_bytes(settings, largest) + largest_encoded;
}

PipelineMemory::PipelineMemory(const PipelineSettings& settings, Bytes largest_encoded,
                               const LargestImage& largest)
    : batches_(slot_bytes(settings)) {
  const Counts counts(settings);
  const auto take = [&]<class T>(std::span<T>& span, std::int64_t count) {
    span = batches_.take_array<T>(static_cast<std::size_t>(count));
  };
  for (int i = 0; i < settings.depth; ++i) {
    Slot& slot = slots_.emplace_back();
    take(slot.pixels, counts.batch * settings.picture_bytes());
    take(slot.labels, counts.batch);
    take(slot.samples, counts.batch);
    take(slot.other_labels, counts.mixed);
    take(slot.other_shares, counts.mixed);
    take(slot.placements, counts.placed);
    take(slot.box_counts, counts.boxed);
    take(slot.boxes, counts.boxes);
  }
  for (int i = 0; i < settings.most_workers(); ++i)
    workers_.push_back({.room = Room(room_bytes(settings, largest)),
                        .encoded = MappedBytes(static_cast<std::size_t>(largest_encoded.count))});
}

void PipelineMemory::claim(BatchQueue& queue) {
  if (user_ != nullptr && user_ != &queue) user_->pause();
  user_ = &queue;
}

void PipelineMemory::leave(const BatchQueue& queue) {
  if (user_ == &queue) user_ = nullptr;
}

}  // namespace plimsoll
