// The 16-bit form of an activation: for every plane of 8 channels, 8 scales and then halves. A
// scale is a power of two that brings its channel's largest magnitude into [0.5, 1), so nothing
// overflows and a value loses its last 13 bits, no more.
#pragma once

#include <cstddef>

#include "tensor/view.h"

namespace plimsoll::kernels {

// `from` is blocked f32 and dense; `to` holds half_bytes() of its spec (plan/problem.h), 64-byte
// aligned. Not finite values stay not finite.
void pack_half(const TensorView& from, std::byte* to) noexcept;
void unpack_half(const std::byte* from, const TensorView& to) noexcept;

}  // namespace plimsoll::kernels
