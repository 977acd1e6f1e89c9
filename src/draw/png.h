// Pixels to PNG.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace plimsoll::draw {

// The bytes of a PNG file of [height][width][channels] bytes; 1 channel is grey, 3 are RGB. The
// number of pixels must be right; DataError if libpng cannot make it.
std::string encode_png(std::int64_t width, std::int64_t height, std::int64_t channels,
                       std::span<const std::uint8_t> pixels);

// The same, handed on in pieces of up to 64 KiB as they are made; what `take` throws comes out.
using TakeBytes = std::function<void(std::string_view bytes)>;
void stream_png(std::int64_t width, std::int64_t height, std::int64_t channels,
                std::span<const std::uint8_t> pixels, const TakeBytes& take);
// What that allocates.
Bytes stream_png_bytes(std::int64_t width, std::int64_t channels);

}  // namespace plimsoll::draw
