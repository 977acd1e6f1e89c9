// Eight f32 lanes: the width of AVX2 and of a channel block.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "base/bf16.h"

namespace plimsoll::kernels {

using Vec8 = __m256;

inline Vec8 load8(const float* p) { return _mm256_loadu_ps(p); }
inline void store8(float* p, Vec8 v) { _mm256_storeu_ps(p, v); }
// Elements that are stored in 16 bits: exact, and rounded to nearest even with NaN kept.
inline Vec8 load8(const Bf16* p) {
  const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
}
inline __m128i shortened8(Vec8 v) {
  const __m256i bits = _mm256_castps_si256(v);
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  const __m256i near = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7FFF)));
  const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
  const Vec8 nan = _mm256_cmp_ps(v, v, _CMP_UNORD_Q);
  const __m256i kept = _mm256_castps_si256(
      _mm256_blendv_ps(_mm256_castsi256_ps(near), _mm256_castsi256_ps(quiet), nan));
  const __m256i upper = _mm256_srli_epi32(kept, 16);
  return _mm_packus_epi32(_mm256_castsi256_si128(upper), _mm256_extracti128_si256(upper, 1));
}
inline void store8(Bf16* p, Vec8 v) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), shortened8(v));
}

inline Vec8 splat8(float v) { return _mm256_set1_ps(v); }
inline Vec8 splat8(const float* p) { return _mm256_broadcast_ss(p); }
inline Vec8 splat8(const Bf16* p) { return splat8(static_cast<float>(*p)); }
inline Vec8 zero8() { return _mm256_setzero_ps(); }
inline float first8(Vec8 v) { return _mm256_cvtss_f32(v); }

inline Vec8 add8(Vec8 a, Vec8 b) { return _mm256_add_ps(a, b); }
inline Vec8 sub8(Vec8 a, Vec8 b) { return _mm256_sub_ps(a, b); }
inline Vec8 mul8(Vec8 a, Vec8 b) { return _mm256_mul_ps(a, b); }
inline Vec8 div8(Vec8 a, Vec8 b) { return _mm256_div_ps(a, b); }
inline Vec8 sqrt8(Vec8 v) { return _mm256_sqrt_ps(v); }
// a * b + c and c - a * b, rounded once.
inline Vec8 fma8(Vec8 a, Vec8 b, Vec8 c) { return _mm256_fmadd_ps(a, b, c); }
inline Vec8 fnma8(Vec8 a, Vec8 b, Vec8 c) { return _mm256_fnmadd_ps(a, b, c); }
// b where either is NaN.
inline Vec8 max8(Vec8 a, Vec8 b) { return _mm256_max_ps(a, b); }
inline Vec8 min8(Vec8 a, Vec8 b) { return _mm256_min_ps(a, b); }

// Masks: all bits of a lane, or none.
inline Vec8 greater8(Vec8 a, Vec8 b) { return _mm256_cmp_ps(a, b, _CMP_GT_OQ); }
inline Vec8 less8(Vec8 a, Vec8 b) { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }
inline Vec8 equal8(Vec8 a, Vec8 b) { return _mm256_cmp_ps(a, b, _CMP_EQ_OQ); }
inline Vec8 all_lanes8() { return _mm256_castsi256_ps(_mm256_set1_epi32(-1)); }
inline Vec8 and8(Vec8 a, Vec8 b) { return _mm256_and_ps(a, b); }
inline Vec8 unless8(Vec8 mask, Vec8 v) { return _mm256_andnot_ps(mask, v); }
inline Vec8 select8(Vec8 mask, Vec8 yes, Vec8 no) { return _mm256_blendv_ps(no, yes, mask); }

// All bits set in the first `lanes` lanes.
inline Vec8 lane_mask8(std::int64_t lanes) {
  const __m256i index = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_castsi256_ps(
      _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(lanes < 8 ? lanes : 8)), index));
}

// The first `lanes` (1..8) floats at p, zero beyond; reads nothing further.
inline Vec8 load_part8(const float* p, std::int64_t lanes) {
  return _mm256_maskload_ps(p, _mm256_castps_si256(lane_mask8(lanes)));
}
inline void store_part8(float* p, Vec8 v, std::int64_t lanes) {
  _mm256_maskstore_ps(p, _mm256_castps_si256(lane_mask8(lanes)), v);
}

// Eight sums kept in f64: adding f32 partial sums to it loses nothing that matters.
struct Sum8 {
  __m256d low = _mm256_setzero_pd();
  __m256d high = _mm256_setzero_pd();
  void add(Vec8 v) {
    low = _mm256_add_pd(low, _mm256_cvtps_pd(_mm256_castps256_ps128(v)));
    high = _mm256_add_pd(high, _mm256_cvtps_pd(_mm256_extractf128_ps(v, 1)));
  }
  void store(double* p) const {
    _mm256_storeu_pd(p, low);
    _mm256_storeu_pd(p + 4, high);
  }
  Vec8 scaled(double factor) const {
    const __m256d scale = _mm256_set1_pd(factor);
    return _mm256_set_m128(_mm256_cvtpd_ps(_mm256_mul_pd(high, scale)),
                           _mm256_cvtpd_ps(_mm256_mul_pd(low, scale)));
  }
  Vec8 rounded() const { return _mm256_set_m128(_mm256_cvtpd_ps(high), _mm256_cvtpd_ps(low)); }
};

// Past the caches; `p` is aligned to 32 bytes. What was streamed has arrived behind the fence.
inline void stream8(float* p, Vec8 v) { _mm256_stream_ps(p, v); }
inline void stream8(Bf16* p, Vec8 v) {  // aligned to 16
  _mm_stream_si128(reinterpret_cast<__m128i*>(p), shortened8(v));
}
inline void stream_fence() { _mm_sfence(); }

// Eight halves, to nearest; streamed to 16 bytes that are aligned.
inline Vec8 load_halves8(const std::byte* p) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
inline void stream_halves8(std::byte* p, Vec8 v) {
  _mm_stream_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
}

// An 8x8 block; rows lie `from_row` and `to_row` elements apart.
inline void transpose_8x8(const float* from, std::int64_t from_row, float* to,
                          std::int64_t to_row) {
  Vec8 row[8], pair[8], quad[8];
  for (int i = 0; i < 8; ++i) row[i] = load8(from + from_row * i);
  for (int i = 0; i < 8; i += 2) {
    pair[i] = _mm256_unpacklo_ps(row[i], row[i + 1]);
    pair[i + 1] = _mm256_unpackhi_ps(row[i], row[i + 1]);
  }
  for (int i = 0; i < 8; i += 4) {
    quad[i] = _mm256_shuffle_ps(pair[i], pair[i + 2], _MM_SHUFFLE(1, 0, 1, 0));
    quad[i + 1] = _mm256_shuffle_ps(pair[i], pair[i + 2], _MM_SHUFFLE(3, 2, 3, 2));
    quad[i + 2] = _mm256_shuffle_ps(pair[i + 1], pair[i + 3], _MM_SHUFFLE(1, 0, 1, 0));
    quad[i + 3] = _mm256_shuffle_ps(pair[i + 1], pair[i + 3], _MM_SHUFFLE(3, 2, 3, 2));
  }
  for (int i = 0; i < 4; ++i) {
    store8(to + to_row * i, _mm256_permute2f128_ps(quad[i], quad[i + 4], 0x20));
    store8(to + to_row * (i + 4), _mm256_permute2f128_ps(quad[i], quad[i + 4], 0x31));
  }
}

}  // namespace plimsoll::kernels
