// The words of vec.h over eight lanes: one register of AVX2.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "base/bf16.h"

namespace plimsoll::kernels::eight {

inline constexpr std::int64_t kLanes = 8;
// Rows of two vectors each whose sums leave room for their operands in 16 registers.
inline constexpr int kSumRows = 6;

using Vec = __m256;

inline Vec load(const float* p) { return _mm256_loadu_ps(p); }
inline void store(float* p, Vec v) { _mm256_storeu_ps(p, v); }
inline Vec load(const Bf16* p) {
  const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
}
inline Vec near_bf16(Vec v) {
  const __m256i bits = _mm256_castps_si256(v);
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  const __m256i near = _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7FFF)));
  const __m256i quiet = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
  const Vec nan = _mm256_cmp_ps(v, v, _CMP_UNORD_Q);
  return _mm256_blendv_ps(_mm256_castsi256_ps(near), _mm256_castsi256_ps(quiet), nan);
}
inline __m128i shortened(Vec v) {
  const __m256i upper = _mm256_srli_epi32(_mm256_castps_si256(near_bf16(v)), 16);
  return _mm_packus_epi32(_mm256_castsi256_si128(upper), _mm256_extracti128_si256(upper, 1));
}
inline void store(Bf16* p, Vec v) { _mm_storeu_si128(reinterpret_cast<__m128i*>(p), shortened(v)); }

inline Vec splat(float v) { return _mm256_set1_ps(v); }
inline Vec splat(const float* p) { return _mm256_broadcast_ss(p); }
inline Vec splat(const Bf16* p) { return splat(static_cast<float>(*p)); }
inline Vec zero() { return _mm256_setzero_ps(); }
inline float first_lane(Vec v) { return _mm256_cvtss_f32(v); }

inline Vec add(Vec a, Vec b) { return _mm256_add_ps(a, b); }
inline Vec sub(Vec a, Vec b) { return _mm256_sub_ps(a, b); }
inline Vec mul(Vec a, Vec b) { return _mm256_mul_ps(a, b); }
inline Vec div(Vec a, Vec b) { return _mm256_div_ps(a, b); }
inline Vec sqrt(Vec v) { return _mm256_sqrt_ps(v); }
inline Vec fma(Vec a, Vec b, Vec c) { return _mm256_fmadd_ps(a, b, c); }
inline Vec fnma(Vec a, Vec b, Vec c) { return _mm256_fnmadd_ps(a, b, c); }
inline Vec fma_pairs(Vec a, Vec b, Vec c) {
  const Vec upper = _mm256_castsi256_ps(_mm256_set1_epi32(static_cast<int>(0xFFFF0000U)));
  const auto lower = [](Vec v) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_castps_si256(v), 16));
  };
  return fma(_mm256_and_ps(a, upper), _mm256_and_ps(b, upper), fma(lower(a), lower(b), c));
}
inline Vec to_whole(Vec v) {
  return _mm256_round_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
inline Vec max(Vec a, Vec b) { return _mm256_max_ps(a, b); }
inline Vec min(Vec a, Vec b) { return _mm256_min_ps(a, b); }

inline Vec greater(Vec a, Vec b) { return _mm256_cmp_ps(a, b, _CMP_GT_OQ); }
inline Vec less(Vec a, Vec b) { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }
inline Vec equal(Vec a, Vec b) { return _mm256_cmp_ps(a, b, _CMP_EQ_OQ); }
inline Vec all_lanes() { return _mm256_castsi256_ps(_mm256_set1_epi32(-1)); }
inline Vec both(Vec a, Vec b) { return _mm256_and_ps(a, b); }
inline Vec either(Vec a, Vec b) { return _mm256_or_ps(a, b); }
inline Vec differing(Vec a, Vec b) { return _mm256_xor_ps(a, b); }
inline Vec unless(Vec mask, Vec v) { return _mm256_andnot_ps(mask, v); }
inline Vec select(Vec mask, Vec yes, Vec no) { return _mm256_blendv_ps(no, yes, mask); }

inline Vec lane_mask(std::int64_t lanes) {
  const __m256i index = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_castsi256_ps(
      _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(lanes < 8 ? lanes : 8)), index));
}

inline Vec load_part(const float* p, std::int64_t lanes) {
  return _mm256_maskload_ps(p, _mm256_castps_si256(lane_mask(lanes)));
}
inline void store_part(float* p, Vec v, std::int64_t lanes) {
  _mm256_maskstore_ps(p, _mm256_castps_si256(lane_mask(lanes)), v);
}

struct LaneSums {
  __m256d low = _mm256_setzero_pd();
  __m256d high = _mm256_setzero_pd();
  void add(Vec v) {
    low = _mm256_add_pd(low, _mm256_cvtps_pd(_mm256_castps256_ps128(v)));
    high = _mm256_add_pd(high, _mm256_cvtps_pd(_mm256_extractf128_ps(v, 1)));
  }
  void store(double* p) const {
    _mm256_storeu_pd(p, low);
    _mm256_storeu_pd(p + 4, high);
  }
  Vec scaled(double factor) const {
    const __m256d scale = _mm256_set1_pd(factor);
    return _mm256_set_m128(_mm256_cvtpd_ps(_mm256_mul_pd(high, scale)),
                           _mm256_cvtpd_ps(_mm256_mul_pd(low, scale)));
  }
  Vec rounded() const { return _mm256_set_m128(_mm256_cvtpd_ps(high), _mm256_cvtpd_ps(low)); }
};

inline void stream(float* p, Vec v) { _mm256_stream_ps(p, v); }
inline void stream(Bf16* p, Vec v) {
  _mm_stream_si128(reinterpret_cast<__m128i*>(p), shortened(v));
}
inline void stream_fence() { _mm_sfence(); }

inline Vec load_halves(const std::byte* p) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
inline void stream_halves(std::byte* p, Vec v) {
  _mm_stream_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
}

inline void transpose_block(const float* from, std::int64_t from_row, float* to,
                            std::int64_t to_row) {
  Vec row[8], pair[8], quad[8];
  for (int i = 0; i < 8; ++i) row[i] = load(from + from_row * i);
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
    store(to + to_row * i, _mm256_permute2f128_ps(quad[i], quad[i + 4], 0x20));
    store(to + to_row * (i + 4), _mm256_permute2f128_ps(quad[i], quad[i + 4], 0x31));
  }
}

using IntVec = __m256i;

inline IntVec splat_ints(std::int64_t v) { return _mm256_set1_epi32(static_cast<int>(v)); }
inline IntVec bits_of(Vec v) { return _mm256_castps_si256(v); }
inline Vec floats_of(IntVec bits) { return _mm256_castsi256_ps(bits); }

inline IntVec whole_ints(Vec v) { return _mm256_cvtps_epi32(v); }
inline Vec lanes_of(std::uint32_t bits) {
  const IntVec each = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  const IntVec all = _mm256_set1_epi32(static_cast<int>(bits));
  return floats_of(_mm256_cmpeq_epi32(_mm256_and_si256(all, each), each));
}

inline IntVec add(IntVec a, IntVec b) { return _mm256_add_epi32(a, b); }
inline IntVec sub(IntVec a, IntVec b) { return _mm256_sub_epi32(a, b); }
inline IntVec both(IntVec a, IntVec b) { return _mm256_and_si256(a, b); }
inline IntVec either(IntVec a, IntVec b) { return _mm256_or_si256(a, b); }
inline IntVec unless(IntVec mask, IntVec v) { return _mm256_andnot_si256(mask, v); }
inline IntVec greater(IntVec a, IntVec b) { return _mm256_cmpgt_epi32(a, b); }
inline IntVec equal(IntVec a, IntVec b) { return _mm256_cmpeq_epi32(a, b); }
inline IntVec select(IntVec mask, IntVec yes, IntVec no) {
  return _mm256_blendv_epi8(no, yes, mask);
}
template <int bits>
IntVec shift_left(IntVec v) {
  return _mm256_slli_epi32(v, bits);
}
template <int bits>
IntVec shift_right(IntVec v) {
  return _mm256_srli_epi32(v, bits);
}

inline IntVec load_bytes(const std::uint8_t* p) {
  return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
}
inline void store_bytes(std::uint8_t* p, IntVec v) {
  const __m128i words = _mm_packus_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm_packus_epi16(words, words));
}

}  // namespace plimsoll::kernels::eight
