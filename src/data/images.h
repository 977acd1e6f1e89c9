// A labelled set of images of one size, held in memory as bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "data/order.h"

namespace plimsoll {

struct Images {
  std::int64_t count = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t channels = 0;
  std::vector<std::uint8_t> pixels;  // [count][height][width][channels]
  std::vector<std::int32_t> labels;  // one per image, in [0, class_names.size())
  std::vector<std::string> class_names;

  std::int64_t pixels_per_image() const { return height * width * channels; }
  // What the pixels and labels hold.
  Bytes bytes() const;
};

// Writes images order[first] .. order[first + count) to `nchw`, channels first, with 0..255 scaled
// to [-1, 1] as x / 127.5 - 1 (Keras's 'tf' mode). The order must be of all images, and the range
// within it. Does not allocate or throw; calls on different outputs may run at the same time.
void fill_batch(const Images& images, const Order& order, std::int64_t first, std::int64_t count,
                float* nchw) noexcept;

// The labels of the same images.
void fill_labels(const Images& images, const Order& order, std::int64_t first, std::int64_t count,
                 std::int32_t* labels) noexcept;

}  // namespace plimsoll
