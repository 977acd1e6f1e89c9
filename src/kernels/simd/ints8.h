// Eight 32-bit integers beside the eight floats of vec8.h.
#pragma once

#include "kernels/simd/vec8.h"

namespace plimsoll::kernels {

using Ints8 = __m256i;

inline Ints8 splat_ints8(std::int64_t v) { return _mm256_set1_epi32(static_cast<int>(v)); }
// The same bits under the other type.
inline Ints8 bits_of8(Vec8 v) { return _mm256_castps_si256(v); }
inline Vec8 floats_of8(Ints8 bits) { return _mm256_castsi256_ps(bits); }

inline Ints8 add8(Ints8 a, Ints8 b) { return _mm256_add_epi32(a, b); }
inline Ints8 sub8(Ints8 a, Ints8 b) { return _mm256_sub_epi32(a, b); }
inline Ints8 and8(Ints8 a, Ints8 b) { return _mm256_and_si256(a, b); }
inline Ints8 or8(Ints8 a, Ints8 b) { return _mm256_or_si256(a, b); }
inline Ints8 unless8(Ints8 mask, Ints8 v) { return _mm256_andnot_si256(mask, v); }
inline Ints8 greater8(Ints8 a, Ints8 b) { return _mm256_cmpgt_epi32(a, b); }
inline Ints8 equal8(Ints8 a, Ints8 b) { return _mm256_cmpeq_epi32(a, b); }
inline Ints8 select8(Ints8 mask, Ints8 yes, Ints8 no) { return _mm256_blendv_epi8(no, yes, mask); }
template <int bits>
Ints8 shift_left8(Ints8 v) {
  return _mm256_slli_epi32(v, bits);
}
// Zeros come in from above.
template <int bits>
Ints8 shift_right8(Ints8 v) {
  return _mm256_srli_epi32(v, bits);
}

// Eight bytes; integers in [0, 255].
inline Ints8 load_bytes8(const std::uint8_t* p) {
  return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
}
inline void store_bytes8(std::uint8_t* p, Ints8 v) {
  const __m128i words = _mm_packus_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm_packus_epi16(words, words));
}

}  // namespace plimsoll::kernels
