// Checksums made right, so that a mutation meets the parser behind them: one that changes a byte
// and its checksum alike is what chance does not find.
#pragma once

#include <fmt/format.h>
#include <zlib.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/crc32c.h"
#include "base/random.h"

// Of every record of a TFRecord file, as far as lengths lead from one to the next.
inline std::vector<std::uint8_t> with_right_record_checksums(const std::uint8_t* data,
                                                             std::size_t size) {
  std::vector<std::uint8_t> bytes(data, data + size);
  const auto put = [&](std::size_t from, std::size_t length) {
    const std::uint32_t sum = plimsoll::mask_crc32c(
        plimsoll::crc32c(std::as_bytes(std::span(bytes).subspan(from, length))));
    std::memcpy(bytes.data() + from + length, &sum, sizeof sum);
  };
  std::size_t at = 0;
  while (size - at >= 16) {
    put(at, 8);
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data() + at, sizeof length);
    if (length > size - at - 16) break;
    put(at + 12, static_cast<std::size_t>(length));
    at += 16 + static_cast<std::size_t>(length);
  }
  return bytes;
}

// Of every chunk of a PNG file.
inline std::vector<std::uint8_t> with_right_chunk_checksums(const std::uint8_t* data,
                                                            std::size_t size) {
  std::vector<std::uint8_t> bytes(data, data + size);
  std::size_t at = 8;
  while (at <= size && size - at >= 12) {
    const std::uint8_t* head = bytes.data() + at;
    const std::size_t length = std::size_t{head[0]} << 24 | std::size_t{head[1]} << 16 |
                               std::size_t{head[2]} << 8 | head[3];
    if (length > size - at - 12) break;
    const uLong sum = ::crc32(0, head + 4, static_cast<uInt>(length + 4));
    for (std::size_t i = 0; i < 4; ++i)
      bytes[at + 8 + length + i] = static_cast<std::uint8_t>(sum >> (24 - 8 * i));
    at += 12 + length;
  }
  return bytes;
}

// Of a text that ends with a line "end CHECKSUM".
inline std::string with_right_last_line(std::string_view text) {
  const std::string_view lines = text.substr(0, text.rfind("end "));
  return fmt::format("{}end {:016x}\n", lines, plimsoll::fnv1a64(lines));
}
