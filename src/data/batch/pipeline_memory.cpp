#include "data/batch/pipeline_memory.h"

namespace plimsoll {

Bytes PipelineMemory::slot_bytes(const PipelineSettings& settings) {
  const std::int64_t batch = settings.batch;
  const std::int64_t mixed = settings.augment.mixup > 0
                                 ? Room::rounded(batch * std::int64_t{sizeof(std::int32_t)}) +
                                       Room::rounded(batch * std::int64_t{sizeof(float)})
                                 : 0;
  return Bytes{Room::rounded(batch * settings.picture_bytes()) +
               Room::rounded(batch * std::int64_t{sizeof(std::int32_t)}) +
               Room::rounded(batch * std::int64_t{sizeof(std::int64_t)}) + mixed} *
         settings.depth;
}

Bytes PipelineMemory::room_bytes(const PipelineSettings& settings, const LargestImage& largest) {
  const Bytes other{settings.augment.mixup > 0 ? Room::rounded(settings.picture_bytes()) : 0};
  return other + largest.decode +
         Transformer::bytes(settings.image, settings.channels, settings.interpolation,
                            largest.size);
}

Bytes PipelineMemory::worker_bytes(const PipelineSettings& settings, Bytes largest_encoded,
                                   const LargestImage& largest) {
  return room_bytes(settings, largest) + largest_encoded;
}

PipelineMemory::PipelineMemory(const PipelineSettings& settings, Bytes largest_encoded,
                               const LargestImage& largest)
    : batches_(slot_bytes(settings)) {
  const auto batch = static_cast<std::size_t>(settings.batch);
  const std::size_t mixed = settings.augment.mixup > 0 ? batch : 0;
  for (int i = 0; i < settings.depth; ++i)
    slots_.push_back({.pixels = batches_.take_array<std::uint8_t>(
                          batch * static_cast<std::size_t>(settings.picture_bytes())),
                      .labels = batches_.take_array<std::int32_t>(batch),
                      .samples = batches_.take_array<std::int64_t>(batch),
                      .other_labels = batches_.take_array<std::int32_t>(mixed),
                      .other_shares = batches_.take_array<float>(mixed)});
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
