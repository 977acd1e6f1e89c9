// The plane of one block of channels into its 16-bit form; see kernels/half.h.
#pragma once

#include <cstddef>

#include "kernels/simd/vec.h"

namespace plimsoll::kernels::PLIMSOLL_VARIANT {

inline constexpr std::int64_t kScaleBytes = kLanes * 4;

inline std::int64_t packed_plane_bytes(std::int64_t pixels) {
  return kScaleBytes + pixels * kLanes * 2;
}

inline Vec magnitude(Vec v) { return both(floats_of(splat_ints(0x7FFFFFFF)), v); }

// Per lane 2^-e with 2^(e-1) <= v < 2^e, and 2^e; 1 for what is zero, denormal or not finite.
struct Scale {
  Vec down, up;
};

inline Scale scale_of(Vec largest) {
  const IntVec exponent = shift_right<23>(bits_of(largest));  // largest is not negative
  const IntVec low = greater(splat_ints(3), exponent);
  const IntVec high = greater(exponent, splat_ints(250));
  const IntVec usable = unless(either(low, high), sub(exponent, splat_ints(126)));
  const IntVec bias = splat_ints(127);
  return {floats_of(shift_left<23>(sub(bias, usable))),
          floats_of(shift_left<23>(add(bias, usable)))};
}

// `largest` holds every channel's largest magnitude. Streams, as the 16-bit form is read again only
// in backward, when no cache holds it: the caller fences.
template <class T>
void pack_plane(const T* plane, std::int64_t pixels, Vec largest, std::byte* to) {
  const Scale scale = scale_of(largest);
  store(reinterpret_cast<float*>(to), scale.up);
  std::byte* halves = to + kScaleBytes;
  for (std::int64_t i = 0; i < pixels; ++i)
    stream_halves(halves + i * kLanes * 2, mul(load(plane + i * kLanes), scale.down));
}

}  // namespace plimsoll::kernels::PLIMSOLL_VARIANT
