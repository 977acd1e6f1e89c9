// Eight f32 lanes: the width of AVX2 and of a channel block.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace plimsoll::kernels {

using Vec8 = __m256;

inline Vec8 load8(const float* p) { return _mm256_loadu_ps(p); }
inline void store8(float* p, Vec8 v) { _mm256_storeu_ps(p, v); }
inline Vec8 splat8(float v) { return _mm256_set1_ps(v); }
inline Vec8 zero8() { return _mm256_setzero_ps(); }
// a * b + c, rounded once.
inline Vec8 fma8(Vec8 a, Vec8 b, Vec8 c) { return _mm256_fmadd_ps(a, b, c); }

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
  Vec8 rounded() const { return _mm256_set_m128(_mm256_cvtpd_ps(high), _mm256_cvtpd_ps(low)); }
};

}  // namespace plimsoll::kernels
