// One plane of 8 channels into its 16-bit form; see kernels/half.h.
#pragma once

#include <cstddef>

#include "kernels/simd/vec8.h"
#include "tensor/view.h"

namespace plimsoll::kernels {

inline constexpr std::int64_t kScaleBytes = kLanes * 4;

inline std::int64_t packed_plane_bytes(std::int64_t pixels) {
  return kScaleBytes + pixels * kLanes * 2;
}

inline Vec8 magnitude8(Vec8 v) {
  return _mm256_and_ps(_mm256_castsi256_ps(_mm256_set1_epi32(0x7FFFFFFF)), v);
}

// Per lane 2^-e with 2^(e-1) <= v < 2^e, and 2^e; 1 for what is zero, denormal or not finite.
struct Scale {
  Vec8 down, up;
};

inline Scale scale_of(Vec8 largest) {
  const __m256i bits = _mm256_castps_si256(largest);
  const __m256i exponent = _mm256_srli_epi32(bits, 23);  // largest is not negative
  const __m256i low = _mm256_cmpgt_epi32(_mm256_set1_epi32(3), exponent);
  const __m256i high = _mm256_cmpgt_epi32(exponent, _mm256_set1_epi32(250));
  const __m256i usable = _mm256_andnot_si256(_mm256_or_si256(low, high),
                                             _mm256_sub_epi32(exponent, _mm256_set1_epi32(126)));
  const __m256i bias = _mm256_set1_epi32(127);
  return {_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_sub_epi32(bias, usable), 23)),
          _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(bias, usable), 23))};
}

// `largest` holds every channel's largest magnitude. Streams, as the 16-bit form is read again only
// in backward, when no cache holds it: the caller fences.
inline void pack_plane(const float* plane, std::int64_t pixels, Vec8 largest, std::byte* to) {
  const Scale scale = scale_of(largest);
  store8(reinterpret_cast<float*>(to), scale.up);
  auto* halves = reinterpret_cast<__m128i*>(to + kScaleBytes);
  for (std::int64_t i = 0; i < pixels; ++i)
    _mm_stream_si128(halves + i,
                     _mm256_cvtps_ph(_mm256_mul_ps(load8(plane + i * kLanes), scale.down),
                                     _MM_FROUND_TO_NEAREST_INT));
}

}  // namespace plimsoll::kernels
