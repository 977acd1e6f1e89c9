// A labelled set of images of one size, held in memory as bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"

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

}  // namespace plimsoll
