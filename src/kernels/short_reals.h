// Tensors in bf16 to f32 and back.
#pragma once

#include <cstdint>

#include "base/bf16.h"

namespace plimsoll::kernels {

void widen(const Bf16* from, std::int64_t count, float* to) noexcept;
// To nearest, ties to even.
void shorten(const float* from, std::int64_t count, Bf16* to) noexcept;

}  // namespace plimsoll::kernels
