#include "kernels/bilinear.h"

#include <immintrin.h>

#include <cmath>
#include <cstring>

namespace plimsoll::kernels {
namespace {

// A pixel between four others. Eight bytes can be read at `at` and at `at + stride`.
inline void put_inside_3(const std::uint8_t* at, std::int64_t stride, int share_x, int share_y,
                         std::uint8_t* out) {
  // Left and right neighbour beside each other, as 16-bit numbers.
  const __m128i order = _mm_setr_epi8(0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, 0, -1, 3, -1);
  const __m128i columns = _mm_set1_epi32(share_x << 16 | ((1 << kShareBits) - share_x));
  const __m128i rows = _mm_set1_epi32(share_y << 16 | ((1 << kShareBits) - share_y));
  constexpr int kDropped = 5;  // so that a level of 255 fits into 16 bits
  constexpr int kShift = 2 * kShareBits - kDropped;
  const auto line = [&](const std::uint8_t* row) {
    const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(row));
    const __m128i sum = _mm_madd_epi16(_mm_shuffle_epi8(bytes, order), columns);
    const __m128i half = _mm_set1_epi32(1 << (kDropped - 1));
    return _mm_srai_epi32(_mm_add_epi32(sum, half), kDropped);
  };
  const __m128i top = line(at);
  const __m128i low = line(at + stride);
  const __m128i both = _mm_or_si128(top, _mm_slli_epi32(low, 16));
  __m128i sum = _mm_add_epi32(_mm_madd_epi16(both, rows), _mm_set1_epi32(1 << (kShift - 1)));
  sum = _mm_srai_epi32(sum, kShift);
  sum = _mm_packs_epi32(sum, sum);
  const int pixel = _mm_cvtsi128_si32(_mm_packus_epi16(sum, sum));
  std::memcpy(out, &pixel, 3);
}

inline void put_inside_1(const std::uint8_t* at, std::int64_t stride, int share_x, int share_y,
                         std::uint8_t* out) {
  constexpr int kOne = 1 << kShareBits;
  const int top = at[0] * (kOne - share_x) + at[1] * share_x;
  const int low = at[stride] * (kOne - share_x) + at[stride + 1] * share_x;
  *out = static_cast<std::uint8_t>(
      (top * (kOne - share_y) + low * share_y + (1 << (2 * kShareBits - 1))) >> (2 * kShareBits));
}

template <int channels>
void put_run(const std::uint8_t* from, std::int64_t stride, const Line& line, const Run& run,
             std::uint8_t* out) {
  constexpr int kOne = 1 << kShareBits;
  for (std::int64_t i = run.begin; i < run.end; ++i) {
    // Rounded before the whole and the rest are told apart.
    const auto x = static_cast<int>(std::lrint(line.x(i) * kOne));
    const auto y = static_cast<int>(std::lrint(line.y(i) * kOne));
    const std::uint8_t* at = from + (y >> kShareBits) * stride + (x >> kShareBits) * channels;
    if constexpr (channels == 1)
      put_inside_1(at, stride, x & (kOne - 1), y & (kOne - 1), out + i);
    else
      put_inside_3(at, stride, x & (kOne - 1), y & (kOne - 1), out + 3 * i);
  }
}

}  // namespace

void blend_four(const std::uint8_t* from, std::int64_t stride, int channels, const Line& line,
                const Run& run, std::uint8_t* out) noexcept {
  if (channels == 1)
    put_run<1>(from, stride, line, run, out);
  else
    put_run<3>(from, stride, line, run, out);
}

}  // namespace plimsoll::kernels
