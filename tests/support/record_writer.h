// Writes what the readers of data/ read: Examples, TFRecord files, small images.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/crc32c.h"

namespace plimsoll {

inline std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}

// Field `number` of a message, of wire type 2.
inline std::string field(int number, std::string_view content) {
  return varint(static_cast<std::uint64_t>(number) << 3 | 2) + varint(content.size()) +
         std::string(content);
}

// Builds a tf.train.Example.
class ExampleText {
 public:
  ExampleText& bytes(std::string_view key, const std::vector<std::string>& values) {
    std::string list;
    for (const std::string& value : values) list += field(1, value);
    return add(key, field(1, list));
  }
  ExampleText& floats(std::string_view key, const std::vector<float>& values) {
    std::string packed(values.size() * 4, '\0');
    if (!values.empty()) std::memcpy(packed.data(), values.data(), packed.size());
    return add(key, field(2, field(1, packed)));
  }
  ExampleText& ints(std::string_view key, const std::vector<std::int64_t>& values) {
    std::string packed;
    for (const std::int64_t value : values) packed += varint(static_cast<std::uint64_t>(value));
    return add(key, field(3, field(1, packed)));
  }
  std::string text() const { return field(1, features_); }

 private:
  ExampleText& add(std::string_view key, const std::string& feature) {
    features_ += field(1, field(1, key) + field(2, feature));
    return *this;
  }
  std::string features_;
};

template <typename T>
std::string little_endian(T value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

inline std::string framed(std::string_view payload) {
  const auto crc = [](std::string_view bytes) {
    return little_endian(mask_crc32c(crc32c(std::as_bytes(std::span(bytes)))));
  };
  const std::string length = little_endian<std::uint64_t>(payload.size());
  return length + crc(length) + std::string(payload) + crc(payload);
}

// window_bits: 31 for gzip, 15 for zlib.
inline std::string deflated(std::string_view plain, int window_bits) {
  z_stream stream{};
  ::deflateInit2(&stream, 6, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY);
  std::string input(plain);
  std::string packed(::deflateBound(&stream, plain.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  ::deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  ::deflateEnd(&stream);
  return packed;
}

// An uncompressed BMP of 24 bits whose pixels follow from `seed`: smooth, and another for each.
inline std::string bmp_image(int width, int height, unsigned seed) {
  const int row = (width * 3 + 3) / 4 * 4;
  const auto pixels = static_cast<std::uint32_t>(row * height);
  std::string bytes = "BM" + little_endian<std::uint32_t>(54 + pixels) +
                      little_endian<std::uint32_t>(0) + little_endian<std::uint32_t>(54) +
                      little_endian<std::uint32_t>(40) + little_endian<std::int32_t>(width) +
                      little_endian<std::int32_t>(height) + little_endian<std::uint16_t>(1) +
                      little_endian<std::uint16_t>(24) + std::string(24, '\0');
  for (int y = 0; y < height; ++y) {
    std::string line(static_cast<std::size_t>(row), '\0');
    for (int x = 0; x < width; ++x)
      for (int c = 0; c < 3; ++c)
        line[static_cast<std::size_t>(x * 3 + c)] =
            static_cast<char>(seed * 37 + static_cast<unsigned>(x * 3 + y * 5 + c * 70));
    bytes += line;
  }
  return bytes;
}

}  // namespace plimsoll
