// One plane of 8 channels into its 16-bit form; see kernels/half.h.
#pragma once

#include <cstddef>

#include "kernels/simd/ints8.h"
#include "tensor/view.h"

namespace plimsoll::kernels {

inline constexpr std::int64_t kScaleBytes = kLanes * 4;

inline std::int64_t packed_plane_bytes(std::int64_t pixels) {
  return kScaleBytes + pixels * kLanes * 2;
}

inline Vec8 magnitude8(Vec8 v) { return and8(floats_of8(splat_ints8(0x7FFFFFFF)), v); }

// Per lane 2^-e with 2^(e-1) <= v < 2^e, and 2^e; 1 for what is zero, denormal or not finite.
struct Scale {
  Vec8 down, up;
};

inline Scale scale_of(Vec8 largest) {
  const Ints8 exponent = shift_right8<23>(bits_of8(largest));  // largest is not negative
  const Ints8 low = greater8(splat_ints8(3), exponent);
  const Ints8 high = greater8(exponent, splat_ints8(250));
  const Ints8 usable = unless8(or8(low, high), sub8(exponent, splat_ints8(126)));
  const Ints8 bias = splat_ints8(127);
  return {floats_of8(shift_left8<23>(sub8(bias, usable))),
          floats_of8(shift_left8<23>(add8(bias, usable)))};
}

// `largest` holds every channel's largest magnitude. Streams, as the 16-bit form is read again only
// in backward, when no cache holds it: the caller fences.
template <class T>
void pack_plane(const T* plane, std::int64_t pixels, Vec8 largest, std::byte* to) {
  const Scale scale = scale_of(largest);
  store8(reinterpret_cast<float*>(to), scale.up);
  std::byte* halves = to + kScaleBytes;
  for (std::int64_t i = 0; i < pixels; ++i)
    stream_halves8(halves + i * kLanes * 2, mul8(load8(plane + i * kLanes), scale.down));
}

}  // namespace plimsoll::kernels
