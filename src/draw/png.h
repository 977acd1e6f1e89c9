// Pixels to PNG.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace plimsoll::draw {

// The bytes of a PNG file of [height][width][channels] bytes; 1 channel is grey, 3 are RGB. The
// number of pixels must be right; DataError if libpng cannot make it.
std::string encode_png(std::int64_t width, std::int64_t height, std::int64_t channels,
                       std::span<const std::uint8_t> pixels);

}  // namespace plimsoll::draw
