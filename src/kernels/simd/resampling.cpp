#include "kernels/resampling.h"

#include <immintrin.h>

#include <algorithm>
#include <cstring>

namespace plimsoll::kernels {
namespace {

// Bits after the point of a blended row: 255 and the overshoot of bicubic fit into 16 bits.
constexpr int kLineBits = 6;

constexpr int kOutShift = kWeightBits + kLineBits;

std::uint8_t to_level(std::int32_t sum) {
  return static_cast<std::uint8_t>(std::clamp((sum + (1 << (kOutShift - 1))) >> kOutShift, 0, 255));
}

// Horizontal pass over a blended row of grey.
void blend_columns_1(const std::int16_t* line, const TapTable& taps, std::uint8_t* out) {
  const std::int16_t* weights = taps.weights;
  for (std::int64_t x = 0; x < taps.out; ++x, weights += taps.count) {
    const std::int16_t* in = line + taps.first[x];
    std::int32_t sum = 0;
    for (std::int64_t t = 0; t < taps.count; ++t) sum += weights[t] * in[t];
    out[x] = to_level(sum);
  }
}

// One RGB pixel: two taps at a time, so that a multiply-add sums both. The fourth lane is noise.
__m128i blend_pixel_3(const std::int16_t* in, const std::int16_t* weights, std::int64_t count) {
  const __m128i order = _mm_setr_epi8(0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11, 0, 1, 6, 7);
  __m128i sum = _mm_set1_epi32(1 << (kOutShift - 1));
  for (std::int64_t t = 0; t < count; t += 2) {
    std::int32_t pair = 0;
    std::memcpy(&pair, weights + t, sizeof(pair));
    const __m128i two = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + 3 * t));
    sum = _mm_add_epi32(sum, _mm_madd_epi16(_mm_shuffle_epi8(two, order), _mm_set1_epi32(pair)));
  }
  sum = _mm_srai_epi32(sum, kOutShift);
  sum = _mm_packs_epi32(sum, sum);
  return _mm_packus_epi16(sum, sum);
}

template <std::int64_t fixed_count>
void blend_columns_3(const std::int16_t* line, const TapTable& taps, std::uint8_t* out) {
  const std::int64_t count = fixed_count > 0 ? fixed_count : taps.count;
  const std::int16_t* weights = taps.weights;
  const std::int32_t* first = taps.first;
  // Four bytes are written for three; the next pixel mends the fourth, the last has no next.
  std::int64_t x = 0;
  for (; x + 1 < taps.out; ++x, weights += count, out += 3)
    _mm_storeu_si32(out, blend_pixel_3(line + 3 * first[x], weights, count));
  const int last = _mm_cvtsi128_si32(blend_pixel_3(line + 3 * first[x], weights, count));
  std::memcpy(out, &last, 3);
}

}  // namespace

void blend_rows(std::span<const std::uint8_t* const> sources, const std::int16_t* weights,
                std::int64_t bytes, std::int16_t* line) noexcept {
  constexpr int kShift = kWeightBits - kLineBits;
  const __m256i half = _mm256_set1_epi32(1 << (kShift - 1));
  std::int64_t i = 0;
  for (; i + 16 <= bytes; i += 16) {
    __m256i low = half;
    __m256i high = half;
    for (std::size_t t = 0; t < sources.size(); t += 2) {
      std::int32_t pair = 0;
      std::memcpy(&pair, weights + t, sizeof(pair));
      const __m256i w = _mm256_set1_epi32(pair);
      const auto load = [i](const std::uint8_t* row) {
        return _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(row + i)));
      };
      const __m256i a = load(sources[t]);
      const __m256i b = load(sources[t + 1]);
      low = _mm256_add_epi32(low, _mm256_madd_epi16(_mm256_unpacklo_epi16(a, b), w));
      high = _mm256_add_epi32(high, _mm256_madd_epi16(_mm256_unpackhi_epi16(a, b), w));
    }
    const __m256i packed =
        _mm256_packs_epi32(_mm256_srai_epi32(low, kShift), _mm256_srai_epi32(high, kShift));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(line + i), packed);
  }
  for (; i < bytes; ++i) {
    std::int32_t sum = 1 << (kShift - 1);
    for (std::size_t t = 0; t < sources.size(); ++t) sum += weights[t] * sources[t][i];
    line[i] = static_cast<std::int16_t>(std::clamp(sum >> kShift, -32768, 32767));
  }
}

void blend_columns(const std::int16_t* line, const TapTable& taps, int channels,
                   std::uint8_t* out) noexcept {
  if (channels == 1)
    blend_columns_1(line, taps, out);
  else if (taps.count == 2)
    blend_columns_3<2>(line, taps, out);
  else if (taps.count == 4)
    blend_columns_3<4>(line, taps, out);
  else
    blend_columns_3<0>(line, taps, out);
}

void blend_along(const std::uint8_t* row, std::int64_t step, std::int64_t limit,
                 const TapTable& taps, int channels, std::int16_t* column) noexcept {
  constexpr int kShift = kWeightBits - kLineBits;
  const std::int16_t* weights = taps.weights;
  for (std::int64_t i = 0; i < taps.out; ++i, weights += taps.count) {
    const std::int64_t first = taps.first[i];
    const std::int64_t used = std::min(taps.count, limit - first);
    for (int c = 0; c < channels; ++c) {
      std::int32_t sum = 1 << (kShift - 1);
      for (std::int64_t t = 0; t < used; ++t)
        sum += weights[t] * row[(first + t) * step * channels + c];
      *column++ = static_cast<std::int16_t>(std::clamp(sum >> kShift, -32768, 32767));
    }
  }
}

void blend_across(std::span<const std::int16_t* const> columns, const std::int16_t* weights,
                  std::int64_t height, int channels, std::uint8_t* out,
                  std::int64_t stride) noexcept {
  for (std::int64_t y = 0; y < height; ++y, out += stride)
    for (int c = 0; c < channels; ++c) {
      std::int32_t sum = 0;
      for (std::size_t t = 0; t < columns.size(); ++t)
        sum += weights[t] * columns[t][y * channels + c];
      out[c] = to_level(sum);
    }
}

}  // namespace plimsoll::kernels
