// CRC-32C (Castagnoli), the checksum of TFRecord files, event files and many storage formats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace plimsoll {

// By the processor's own instruction, about 10 GB/s. Of "123456789" it is 0xE3069283.
// `seed` is the checksum of what came before, so that pieces can be chained.
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t seed = 0) noexcept;

// As TFRecord and LevelDB store it: rotated and shifted, so that a checksum of data that holds
// checksums stays strong.
constexpr std::uint32_t mask_crc32c(std::uint32_t crc) {
  return ((crc >> 15) | (crc << 17)) + 0xA282EAD8U;
}

}  // namespace plimsoll
