// The order in which Keras counts the elements of a sample: channels fastest, then columns, rows.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tensor/spec.h"

namespace plimsoll::ops {

// Walks one sample of a plain [N,K], plain [N,C,H,W] or blocked [N,C,H,W] tensor in Keras's order.
class KerasWalk {
 public:
  explicit KerasWalk(const Spec& spec)
      : rows_(spec.shape.rank() == 2),
        blocked_(spec.layout == Layout::blocked),
        lanes_(spec.lanes),
        channels_(spec.shape[1]),
        pixels_(rows_ ? 1 : spec.shape[2] * spec.shape[3]) {}

  // Where the current element lies in its image, in elements.
  std::int64_t offset() const {
    if (rows_) return channel_;
    if (!blocked_) return channel_ * pixels_ + pixel_;
    return (channel_ / lanes_ * pixels_ + pixel_) * lanes_ + channel_ % lanes_;
  }
  // How many elements, this one included, follow each other in memory as in Keras's order.
  std::int64_t contiguous() const {
    if (rows_) return channels_ - channel_;
    if (!blocked_) return 1;
    return std::min(lanes_ - channel_ % lanes_, channels_ - channel_);
  }
  // Goes on by `count` elements, at most contiguous().
  void advance(std::int64_t count) {
    channel_ += count;
    if (channel_ < channels_) return;
    channel_ = 0;
    ++pixel_;
  }

 private:
  bool rows_;
  bool blocked_;
  std::int64_t lanes_;
  std::int64_t channels_;
  std::int64_t pixels_;
  std::int64_t channel_ = 0;
  std::int64_t pixel_ = 0;
};

// The number of an element within its sample.
inline std::int64_t keras_index(const Spec& spec, std::int64_t c, std::int64_t h, std::int64_t w) {
  return spec.shape.rank() == 2 ? c : (h * spec.shape[3] + w) * spec.shape[1] + c;
}

}  // namespace plimsoll::ops
