// Pictures that are the same in every epoch, kept once they are made.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "data/picture/placement.h"

namespace plimsoll {

// Finished pictures by sample, and where they lie. Thread-safe; each is written by one worker,
// once.
class PictureCache {
 public:
  PictureCache(std::int64_t samples, std::int64_t picture)
      : picture_(picture),
        states_(static_cast<std::size_t>(samples)),
        placements_(new CanvasPlacement[static_cast<std::size_t>(samples)]),
        pixels_(new std::uint8_t[static_cast<std::size_t>(samples * picture)]) {}

  // What it takes.
  static Bytes bytes(std::int64_t samples, std::int64_t picture) {
    return {samples *
            (picture + std::int64_t{sizeof(char)} + std::int64_t{sizeof(CanvasPlacement)})};
  }

  bool read(std::int64_t i, std::uint8_t* to, CanvasPlacement& placement) const {
    if (states_[static_cast<std::size_t>(i)].load(std::memory_order_acquire) != kWritten)
      return false;
    std::memcpy(to, pixels_.get() + i * picture_, static_cast<std::size_t>(picture_));
    placement = placements_[static_cast<std::size_t>(i)];
    return true;
  }
  void write(std::int64_t i, const std::uint8_t* from, const CanvasPlacement& placement) {
    std::atomic<char>& state = states_[static_cast<std::size_t>(i)];
    char empty = 0;
    if (!state.compare_exchange_strong(empty, kWriting)) return;
    std::memcpy(pixels_.get() + i * picture_, from, static_cast<std::size_t>(picture_));
    placements_[static_cast<std::size_t>(i)] = placement;
    state.store(kWritten, std::memory_order_release);
  }

 private:
  static constexpr char kWriting = 1;
  static constexpr char kWritten = 2;
  std::int64_t picture_;
  std::vector<std::atomic<char>> states_;
  std::unique_ptr<CanvasPlacement[]> placements_;
  std::unique_ptr<std::uint8_t[]> pixels_;  // not touched before it is written
};

}  // namespace plimsoll
