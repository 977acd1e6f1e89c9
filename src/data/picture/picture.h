// A decoded picture, and the coordinates in which parts of one are named.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace plimsoll {

struct Size {
  std::int64_t height = 0;
  std::int64_t width = 0;

  bool operator==(const Size&) const = default;
};

// Whole pixels: columns [x, x + width), rows [y, y + height).
struct Rect {
  std::int64_t x = 0;
  std::int64_t y = 0;
  std::int64_t width = 0;
  std::int64_t height = 0;

  bool operator==(const Rect&) const = default;
};

// Gives a vector that size; its values are unspecified. One that is too small is given back before
// the larger one is allocated, which has not a byte more: buffers count in the memory budget.
inline void size_buffer(std::vector<std::uint8_t>& buffer, std::size_t size) {
  if (size > buffer.capacity()) {
    std::vector<std::uint8_t>().swap(buffer);
    buffer.reserve(size);
  }
  buffer.resize(size);
}

// The nearest level that a pixel can have.
inline std::uint8_t round_level(double level) {
  return static_cast<std::uint8_t>(std::clamp(level + 0.5, 0.0, 255.0));
}

// Pixels as bytes, rows from the top, channels interleaved: [height][width][channels]. It is meant
// to be used again: a vector that has grown to the largest picture is not allocated any more.
struct Picture {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t channels = 0;  // 1 or 3
  std::vector<std::uint8_t> pixels;

  Size size() const { return {height, width}; }
  std::int64_t row_bytes() const { return width * channels; }
  const std::uint8_t* row(std::int64_t y) const { return pixels.data() + y * row_bytes(); }
  std::uint8_t* row(std::int64_t y) { return pixels.data() + y * row_bytes(); }
  // Sizes the picture; the values of its pixels are unspecified.
  void reshape(std::int64_t new_height, std::int64_t new_width, std::int64_t new_channels) {
    height = new_height;
    width = new_width;
    channels = new_channels;
    size_buffer(pixels, static_cast<std::size_t>(height * width * channels));
  }
};

// Which part of an upright image a decoded picture shows, and how large: its pixel (row r, column
// c) stands for the square of `scale` x `scale` image pixels whose corner is (y + r * scale, x + c
// * scale). The last squares may reach past the image by less than `scale`, and x and y may be
// negative by less than that where the image was turned.
struct Coverage {
  std::int64_t x = 0;
  std::int64_t y = 0;
  std::int64_t scale = 1;  // 1, 2, 4 or 8

  bool operator==(const Coverage&) const = default;
};

}  // namespace plimsoll
