// Unsigned numbers as most formats store them: the least byte first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace plimsoll {

// The number in bytes [at, at + size) of `bytes`, which must be there; `size` is at most 8.
inline std::uint64_t little_endian(std::string_view bytes, std::size_t at, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t i = size; i-- > 0;)
    value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

// Adds the low `size` bytes of `value`.
inline void append_little_endian(std::string& bytes, std::uint64_t value, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xFF);
}

}  // namespace plimsoll
