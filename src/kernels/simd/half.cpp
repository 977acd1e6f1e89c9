#include "kernels/half.h"

#include <immintrin.h>

#include <cstdint>

#include "kernels/simd/stream8.h"

namespace plimsoll::kernels {
namespace {

constexpr std::int64_t kScaleBytes = kLanes * 4;

struct Planes {
  std::int64_t count;   // planes of 8 channels, over all images
  std::int64_t pixels;  // of one plane
  explicit Planes(const Spec& spec)
      : count(spec.shape[0] * round_up(spec.shape[1], kLanes) / kLanes),
        pixels(spec.shape[2] * spec.shape[3]) {}
  std::int64_t packed_bytes() const { return kScaleBytes + pixels * kLanes * 2; }
};

// Per lane 2^-e with 2^(e-1) <= v < 2^e, and 2^e; 1 for what is zero, denormal or not finite.
struct Scale {
  __m256 down, up;
};

Scale scale_of(__m256 largest) {
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

}  // namespace

void pack_half(const TensorView& from, std::byte* to) noexcept {
  const Planes planes(from.spec);
  // Read again only in backward: by then no cache holds it.
  for_each_streaming(planes.count, true, [&]<bool>(std::int64_t p) {
    const float* plane = from.as<float>() + p * planes.pixels * kLanes;
    std::byte* packed = to + p * planes.packed_bytes();
    const __m256 magnitude = _mm256_castsi256_ps(_mm256_set1_epi32(0x7FFFFFFF));
    __m256 largest = _mm256_setzero_ps();
    for (std::int64_t i = 0; i < planes.pixels; ++i)
      largest =
          _mm256_max_ps(largest, _mm256_and_ps(magnitude, _mm256_loadu_ps(plane + i * kLanes)));
    const Scale scale = scale_of(largest);
    _mm256_storeu_ps(reinterpret_cast<float*>(packed), scale.up);
    auto* halves = reinterpret_cast<__m128i*>(packed + kScaleBytes);
    for (std::int64_t i = 0; i < planes.pixels; ++i)
      _mm_stream_si128(
          halves + i,
          _mm256_cvtps_ph(_mm256_mul_ps(_mm256_loadu_ps(plane + i * kLanes), scale.down),
                          _MM_FROUND_TO_NEAREST_INT));
  });
}

void unpack_half(const std::byte* from, const TensorView& to) noexcept {
  const Planes planes(to.spec);
  for_each_streaming(planes.count, outgrows_caches(to.spec), [&]<bool streamed>(std::int64_t p) {
    float* plane = to.as<float>() + p * planes.pixels * kLanes;
    const std::byte* packed = from + p * planes.packed_bytes();
    const __m256 up = _mm256_loadu_ps(reinterpret_cast<const float*>(packed));
    const auto* halves = reinterpret_cast<const __m128i*>(packed + kScaleBytes);
    for (std::int64_t i = 0; i < planes.pixels; ++i)
      put8<streamed>(plane + i * kLanes,
                     _mm256_mul_ps(_mm256_cvtph_ps(_mm_loadu_si128(halves + i)), up));
  });
}

}  // namespace plimsoll::kernels
