// Bytes of a picture to the floats that stand for them.
#pragma once

#include <array>
#include <cstdint>

#include "base/bf16.h"

namespace plimsoll::kernels {

// What each of the levels of a channel becomes.
using Levels = std::array<float, 256>;

// One channel of an interleaved picture: out[i] = levels[in[i * channels]] for `pixels` pixels.
// `in` points to the channel's first byte; nothing behind the picture is read.
void look_up(const std::uint8_t* in, std::int64_t pixels, int channels, const Levels& levels,
             float* out) noexcept;
void look_up(const std::uint8_t* in, std::int64_t pixels, int channels, const Levels& levels,
             Bf16* out) noexcept;

}  // namespace plimsoll::kernels
