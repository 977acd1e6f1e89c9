#include "base/crc32c.h"

#include <nmmintrin.h>

#include <cstring>

namespace plimsoll {

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t seed) noexcept {
  std::uint64_t crc = ~seed;
  while (bytes.size() >= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), sizeof word);
    crc = _mm_crc32_u64(crc, word);
    bytes = bytes.subspan(8);
  }
  auto tail = static_cast<std::uint32_t>(crc);
  for (const std::byte byte : bytes) tail = _mm_crc32_u8(tail, static_cast<unsigned char>(byte));
  return ~tail;
}

}  // namespace plimsoll
