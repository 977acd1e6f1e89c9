// The words of vec.h over sixteen lanes: one register of AVX-512 (F, BW, DQ, VL).
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "base/bf16.h"

namespace plimsoll::kernels::sixteen {

inline constexpr std::int64_t kLanes = 16;
// Rows of two vectors each whose sums leave room for their operands in 32 registers.
inline constexpr int kSumRows = 12;

using Vec = __m512;

// Masks are vectors, as they are without mask registers: the words are the same everywhere.
inline Vec as_vector(__mmask16 mask) { return _mm512_castsi512_ps(_mm512_movm_epi32(mask)); }
inline __mmask16 as_mask(Vec mask) { return _mm512_movepi32_mask(_mm512_castps_si512(mask)); }
inline __mmask16 first_lanes(std::int64_t lanes) {
  return static_cast<__mmask16>(lanes <= 0 ? 0 : lanes < kLanes ? (1U << lanes) - 1U : 0xFFFFU);
}

inline Vec load(const float* p) { return _mm512_loadu_ps(p); }
inline void store(float* p, Vec v) { _mm512_storeu_ps(p, v); }
inline Vec widened(__m256i bits) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
}
inline Vec load(const Bf16* p) {
  return widened(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
// By integers, not by vcvtneps2bf16: that one takes denormal numbers for zero.
inline Vec near_bf16(Vec v) {
  const __m512i bits = _mm512_castps_si512(v);
  const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  const __m512i near = _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7FFF)));
  const __m512i quiet = _mm512_or_si512(bits, _mm512_set1_epi32(0x400000));
  const __mmask16 nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
  return _mm512_castsi512_ps(_mm512_mask_blend_epi32(nan, near, quiet));
}
inline __m256i shortened(Vec v) {
  return _mm512_cvtepi32_epi16(_mm512_srli_epi32(_mm512_castps_si512(near_bf16(v)), 16));
}
inline void store(Bf16* p, Vec v) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), shortened(v));
}

inline Vec splat(float v) { return _mm512_set1_ps(v); }
inline Vec splat(const float* p) { return _mm512_set1_ps(*p); }
inline Vec splat(const Bf16* p) { return splat(static_cast<float>(*p)); }
inline Vec zero() { return _mm512_setzero_ps(); }
inline float first_lane(Vec v) { return _mm512_cvtss_f32(v); }

inline Vec add(Vec a, Vec b) { return _mm512_add_ps(a, b); }
inline Vec sub(Vec a, Vec b) { return _mm512_sub_ps(a, b); }
inline Vec mul(Vec a, Vec b) { return _mm512_mul_ps(a, b); }
inline Vec div(Vec a, Vec b) { return _mm512_div_ps(a, b); }
inline Vec sqrt(Vec v) { return _mm512_sqrt_ps(v); }
inline Vec fma(Vec a, Vec b, Vec c) { return _mm512_fmadd_ps(a, b, c); }
inline Vec fnma(Vec a, Vec b, Vec c) { return _mm512_fnmadd_ps(a, b, c); }
// By its name: to the intrinsic, the whole file would have to be for processors that have it.
inline Vec fma_pairs(Vec a, Vec b, Vec c) {
#ifdef __AVX512F__
  asm("vdpbf16ps %2, %1, %0" : "+v"(c) : "v"(a), "v"(b));
  return c;
#else
  const Vec upper = _mm512_castsi512_ps(_mm512_set1_epi32(static_cast<int>(0xFFFF0000U)));
  const auto lower = [](Vec v) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_castps_si512(v), 16));
  };
  return fma(_mm512_and_ps(a, upper), _mm512_and_ps(b, upper), fma(lower(a), lower(b), c));
#endif
}
inline Vec to_whole(Vec v) {
  return _mm512_roundscale_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
inline Vec max(Vec a, Vec b) { return _mm512_max_ps(a, b); }
inline Vec min(Vec a, Vec b) { return _mm512_min_ps(a, b); }

inline Vec greater(Vec a, Vec b) { return as_vector(_mm512_cmp_ps_mask(a, b, _CMP_GT_OQ)); }
inline Vec less(Vec a, Vec b) { return as_vector(_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ)); }
inline Vec equal(Vec a, Vec b) { return as_vector(_mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ)); }
inline Vec all_lanes() { return _mm512_castsi512_ps(_mm512_set1_epi32(-1)); }
inline Vec both(Vec a, Vec b) { return _mm512_and_ps(a, b); }
inline Vec either(Vec a, Vec b) { return _mm512_or_ps(a, b); }
inline Vec differing(Vec a, Vec b) { return _mm512_xor_ps(a, b); }
inline Vec unless(Vec mask, Vec v) { return _mm512_andnot_ps(mask, v); }
inline Vec select(Vec mask, Vec yes, Vec no) {
  return _mm512_mask_blend_ps(as_mask(mask), no, yes);
}
inline Vec lane_mask(std::int64_t lanes) { return as_vector(first_lanes(lanes)); }
inline Vec lanes_of(std::uint32_t bits) { return as_vector(static_cast<__mmask16>(bits)); }

inline Vec load_part(const float* p, std::int64_t lanes) {
  return _mm512_maskz_loadu_ps(first_lanes(lanes), p);
}
inline void store_part(float* p, Vec v, std::int64_t lanes) {
  _mm512_mask_storeu_ps(p, first_lanes(lanes), v);
}

struct LaneSums {
  __m512d low = _mm512_setzero_pd();
  __m512d high = _mm512_setzero_pd();
  void add(Vec v) {
    low = _mm512_add_pd(low, _mm512_cvtps_pd(_mm512_castps512_ps256(v)));
    high = _mm512_add_pd(high, _mm512_cvtps_pd(_mm512_extractf32x8_ps(v, 1)));
  }
  void store(double* p) const {
    _mm512_storeu_pd(p, low);
    _mm512_storeu_pd(p + 8, high);
  }
  Vec scaled(double factor) const {
    const __m512d scale = _mm512_set1_pd(factor);
    return joined(_mm512_mul_pd(low, scale), _mm512_mul_pd(high, scale));
  }
  Vec rounded() const { return joined(low, high); }

 private:
  static Vec joined(__m512d a, __m512d b) {
    return _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(a)), _mm512_cvtpd_ps(b), 1);
  }
};

inline void stream(float* p, Vec v) { _mm512_stream_ps(p, v); }
inline void stream(Bf16* p, Vec v) {
  _mm256_stream_si256(reinterpret_cast<__m256i*>(p), shortened(v));
}
inline void stream_fence() { _mm_sfence(); }

inline Vec load_halves(const std::byte* p) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
inline void stream_halves(std::byte* p, Vec v) {
  _mm256_stream_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
}

inline void transpose_block(const float* from, std::int64_t from_row, float* to,
                            std::int64_t to_row) {
  Vec row[16], pair[16], quad[16];
  for (int i = 0; i < 16; ++i) row[i] = load(from + from_row * i);
  for (int i = 0; i < 16; i += 2) {
    pair[i] = _mm512_unpacklo_ps(row[i], row[i + 1]);
    pair[i + 1] = _mm512_unpackhi_ps(row[i], row[i + 1]);
  }
  // quad[i + k] holds columns k, 4 + k, 8 + k and 12 + k of rows i to i + 3.
  for (int i = 0; i < 16; i += 4) {
    quad[i] = _mm512_shuffle_ps(pair[i], pair[i + 2], _MM_SHUFFLE(1, 0, 1, 0));
    quad[i + 1] = _mm512_shuffle_ps(pair[i], pair[i + 2], _MM_SHUFFLE(3, 2, 3, 2));
    quad[i + 2] = _mm512_shuffle_ps(pair[i + 1], pair[i + 3], _MM_SHUFFLE(1, 0, 1, 0));
    quad[i + 3] = _mm512_shuffle_ps(pair[i + 1], pair[i + 3], _MM_SHUFFLE(3, 2, 3, 2));
  }
  for (int k = 0; k < 4; ++k) {
    // Columns k and 8 + k, then 4 + k and 12 + k, of the upper rows and of the lower ones.
    const Vec even_top = _mm512_shuffle_f32x4(quad[k], quad[4 + k], _MM_SHUFFLE(2, 0, 2, 0));
    const Vec odd_top = _mm512_shuffle_f32x4(quad[k], quad[4 + k], _MM_SHUFFLE(3, 1, 3, 1));
    const Vec even_low = _mm512_shuffle_f32x4(quad[8 + k], quad[12 + k], _MM_SHUFFLE(2, 0, 2, 0));
    const Vec odd_low = _mm512_shuffle_f32x4(quad[8 + k], quad[12 + k], _MM_SHUFFLE(3, 1, 3, 1));
    store(to + to_row * k, _mm512_shuffle_f32x4(even_top, even_low, _MM_SHUFFLE(2, 0, 2, 0)));
    store(to + to_row * (4 + k), _mm512_shuffle_f32x4(odd_top, odd_low, _MM_SHUFFLE(2, 0, 2, 0)));
    store(to + to_row * (8 + k), _mm512_shuffle_f32x4(even_top, even_low, _MM_SHUFFLE(3, 1, 3, 1)));
    store(to + to_row * (12 + k), _mm512_shuffle_f32x4(odd_top, odd_low, _MM_SHUFFLE(3, 1, 3, 1)));
  }
}

using IntVec = __m512i;

inline IntVec splat_ints(std::int64_t v) { return _mm512_set1_epi32(static_cast<int>(v)); }
inline IntVec bits_of(Vec v) { return _mm512_castps_si512(v); }
inline Vec floats_of(IntVec bits) { return _mm512_castsi512_ps(bits); }
inline IntVec whole_ints(Vec v) { return _mm512_cvtps_epi32(v); }

inline IntVec add(IntVec a, IntVec b) { return _mm512_add_epi32(a, b); }
inline IntVec sub(IntVec a, IntVec b) { return _mm512_sub_epi32(a, b); }
inline IntVec both(IntVec a, IntVec b) { return _mm512_and_si512(a, b); }
inline IntVec either(IntVec a, IntVec b) { return _mm512_or_si512(a, b); }
inline IntVec unless(IntVec mask, IntVec v) { return _mm512_andnot_si512(mask, v); }
inline IntVec greater(IntVec a, IntVec b) {
  return _mm512_movm_epi32(_mm512_cmpgt_epi32_mask(a, b));
}
inline IntVec equal(IntVec a, IntVec b) { return _mm512_movm_epi32(_mm512_cmpeq_epi32_mask(a, b)); }
inline IntVec select(IntVec mask, IntVec yes, IntVec no) {
  return _mm512_mask_blend_epi32(_mm512_movepi32_mask(mask), no, yes);
}
template <int bits>
IntVec shift_left(IntVec v) {
  return _mm512_slli_epi32(v, bits);
}
template <int bits>
IntVec shift_right(IntVec v) {
  return _mm512_srli_epi32(v, bits);
}

inline IntVec load_bytes(const std::uint8_t* p) {
  return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
inline void store_bytes(std::uint8_t* p, IntVec v) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(v));
}

}  // namespace plimsoll::kernels::sixteen
