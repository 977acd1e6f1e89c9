// AVX-512 on any machine: SIMDe (libsimde-dev), and what its version 0.7.4 lacks of what
// sixteen.h says. Included before everything else, in tests alone.
#pragma once

#define SIMDE_ENABLE_NATIVE_ALIASES
#include <immintrin.h>
#include <simde/x86/avx512.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace emulated {

template <class To, class From>
To same_bytes(const From& from) {
  To to{};
  std::memcpy(&to, &from, sizeof to < sizeof from ? sizeof to : sizeof from);
  return to;
}

// Elements of `From` converted one by one.
template <class Result, class To, class From, class Vector>
Result converted(const Vector& v) {
  From from[sizeof(Vector) / sizeof(From)];
  std::memcpy(from, &v, sizeof v);
  To to[sizeof(Result) / sizeof(To)];
  for (std::size_t i = 0; i < sizeof(Result) / sizeof(To); ++i) to[i] = static_cast<To>(from[i]);
  return same_bytes<Result>(to);
}
inline __m128i narrow_to_8(__m512i v) { return converted<__m128i, std::uint8_t, std::uint32_t>(v); }
inline __m256i narrow_to_16(__m512i v) {
  return converted<__m256i, std::uint16_t, std::uint32_t>(v);
}
inline __m512i widen_8(__m128i v) { return converted<__m512i, std::uint32_t, std::uint8_t>(v); }
inline __m512i widen_16(__m256i v) { return converted<__m512i, std::uint32_t, std::uint16_t>(v); }
inline __m256 narrow(__m512d v) { return converted<__m256, float, double>(v); }
inline __m512d widen(__m256 v) { return converted<__m512d, double, float>(v); }
inline float first(__m512 v) { return same_bytes<float>(v); }

template <class Half, class Whole>
struct Halves {
  Half low, high;
  Whole joined() const { return same_bytes<Whole>(*this); }
};
inline Halves<__m256, __m512> halves_of(__m512 v) { return same_bytes<Halves<__m256, __m512>>(v); }
inline __m256 upper(__m512 v) { return halves_of(v).high; }
inline __m512i to_integers(__m512 v) {
  const auto halves = halves_of(v);
  return Halves<__m256i, __m512i>{_mm256_cvtps_epi32(halves.low), _mm256_cvtps_epi32(halves.high)}
      .joined();
}
inline __m512 from_f16(__m256i v) {
  return Halves<__m256, __m512>{_mm256_cvtph_ps(_mm256_castsi256_si128(v)),
                                _mm256_cvtph_ps(_mm256_extracti128_si256(v, 1))}
      .joined();
}
inline __m256i to_f16(__m512 v) {
  const auto halves = halves_of(v);
  return Halves<__m128i, __m256i>{_mm256_cvtps_ph(halves.low, _MM_FROUND_TO_NEAREST_INT),
                                  _mm256_cvtps_ph(halves.high, _MM_FROUND_TO_NEAREST_INT)}
      .joined();
}

inline __m512 load_some(__mmask16 mask, const float* p) {
  float lanes[16] = {};
  for (int i = 0; i < 16; ++i)
    if ((mask >> i & 1) != 0) lanes[i] = p[i];
  return same_bytes<__m512>(lanes);
}
inline void store_some(float* p, __mmask16 mask, __m512 v) {
  float lanes[16];
  std::memcpy(lanes, &v, sizeof v);
  for (int i = 0; i < 16; ++i)
    if ((mask >> i & 1) != 0) p[i] = lanes[i];
}
inline void stream(float* p, __m512 v) {
  if (reinterpret_cast<std::uintptr_t>(p) % 64 != 0) std::abort();  // as the instruction faults
  std::memcpy(p, &v, sizeof v);
}
inline __m512 shuffle_quarters(__m512 a, __m512 b, int order) {
  float from[2][16];
  float to[16];
  std::memcpy(from[0], &a, sizeof a);
  std::memcpy(from[1], &b, sizeof b);
  for (int q = 0; q < 4; ++q)
    std::memcpy(to + 4 * q, from[q / 2] + 4 * (order >> 2 * q & 3), 4 * sizeof(float));
  return same_bytes<__m512>(to);
}

}  // namespace emulated

#define _mm512_cvtepi32_epi8 emulated::narrow_to_8
#define _mm512_cvtepi32_epi16 emulated::narrow_to_16
#define _mm512_cvtepu8_epi32 emulated::widen_8
#define _mm512_cvtepu16_epi32 emulated::widen_16
#define _mm512_cvtpd_ps emulated::narrow
#define _mm512_cvtps_pd emulated::widen
#define _mm512_cvtps_epi32 emulated::to_integers
#define _mm512_cvtph_ps emulated::from_f16
#define _mm512_cvtps_ph(v, rounding) emulated::to_f16(v)
#define _mm512_cvtss_f32 emulated::first
#define _mm512_extractf32x8_ps(v, half) emulated::upper(v)
#define _mm512_maskz_loadu_ps emulated::load_some
#define _mm512_mask_storeu_ps emulated::store_some
#define _mm512_stream_ps emulated::stream
#define _mm512_shuffle_f32x4 emulated::shuffle_quarters
