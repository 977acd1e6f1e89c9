// What pipelines work in: batches, and for each worker the bytes of a file and a room to decode and
// resize it. All of it is there, and touched, before the first batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "data/batch/batch_queue.h"
#include "data/batch/pipeline.h"
#include "data/picture/room.h"

namespace plimsoll {

// Pipelines that never run at the same time, as training and validation, share one. For the
// consumer's thread; what a worker was given is its own.
class PipelineMemory {
 public:
  // For pipelines of these settings; where several share it, of those that ask for the most.
  PipelineMemory(const PipelineSettings& settings, Bytes largest_encoded,
                 const LargestImage& largest);

  struct Slot {
    std::span<std::uint8_t> pixels;
    std::span<std::int32_t> labels;
    std::span<std::int64_t> samples;
    std::span<std::int32_t> other_labels;  // with mixup
    std::span<float> other_shares;
    std::span<CanvasPlacement> placements;  // where pictures are placed
    std::span<std::int32_t> box_counts;     // with boxes
    std::span<PlacedBox> boxes;             // [batch][most_boxes]

    // Whether a batch of these settings has room in it.
    bool holds(const PipelineSettings& settings) const;
  };
  struct Worker {
    Room room;
    MappedBytes encoded;
  };

  std::vector<Slot>& slots() { return slots_; }
  std::vector<Worker>& workers() { return workers_; }

  // `queue` is the one that is filled from here on; the one before stops, and what it has made is
  // lost.
  void claim(BatchQueue& queue);
  void leave(const BatchQueue& queue);

  // What its parts take: of the slots together, and of one worker.
  static Bytes slot_bytes(const PipelineSettings& settings);
  static Bytes worker_bytes(const PipelineSettings& settings, Bytes largest_encoded,
                            const LargestImage& largest);

 private:
  static Bytes room_bytes(const PipelineSettings& settings, const LargestImage& largest);

  Room batches_;
  std::vector<Slot> slots_;
  std::vector<Worker> workers_;
  BatchQueue* user_ = nullptr;
};

}  // namespace plimsoll
