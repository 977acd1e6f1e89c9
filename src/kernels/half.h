// The 16-bit form of an activation: for every plane of a block of channels, its scales and
// then its halves. A
// channel's scale is the power of two S with S / 2 <= largest magnitude < S, by which it is
// divided: so nothing overflows. What x becomes again is off by at most max(|x| / 2^11, S / 2^25):
// values down to S / 2^14 keep 11 significant bits, smaller ones are multiples of S / 2^24 and lose
// a bit for every halving, and what is not above S / 2^25 becomes zero.
#pragma once

#include <cstddef>

#include "tensor/view.h"

namespace plimsoll::kernels {

// `from` is blocked f32 and dense; `to` holds half_bytes() of its spec (plan/problem.h), 64-byte
// aligned. Not finite values stay not finite. Where a channel's largest magnitude is not in
// [2^-124, 2^124), S is 1: a smaller channel becomes zero, of a larger one, or one that holds what
// is not finite, magnitudes from 65520 on become infinite.
void pack_half(const TensorView& from, std::byte* to) noexcept;
void unpack_half(const std::byte* from, const TensorView& to) noexcept;

}  // namespace plimsoll::kernels
