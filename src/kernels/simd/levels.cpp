#include "kernels/levels.h"

#include "kernels/simd/eight.h"

namespace plimsoll::kernels {
namespace {

template <class T>
void look_up_any(const std::uint8_t* in, std::int64_t pixels, int channels, const Levels& levels,
                 T* out) {
  std::int64_t i = 0;
  if (channels == 3) {
    // Bytes 0, 3, ... 21 of the 24 that eight pixels take.
    const __m128i from_low =
        _mm_setr_epi8(0, 3, 6, 9, 12, 15, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
    const __m128i from_high =
        _mm_setr_epi8(-1, -1, -1, -1, -1, -1, 10, 13, -1, -1, -1, -1, -1, -1, -1, -1);
    // The second load ends at byte 24 counted from `in`, which is the picture's end for no channel
    // but the first: the last pixels are done one by one.
    for (; i + 9 <= pixels; i += 8) {
      const std::uint8_t* at = in + 3 * i;
      const __m128i low = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
      const __m128i high = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at + 8));
      const __m128i bytes =
          _mm_or_si128(_mm_shuffle_epi8(low, from_low), _mm_shuffle_epi8(high, from_high));
      eight::store(out + i, _mm256_i32gather_ps(levels.data(), _mm256_cvtepu8_epi32(bytes), 4));
    }
  }
  for (; i < pixels; ++i) out[i] = levels[in[i * channels]];
}

}  // namespace

void look_up(const std::uint8_t* in, std::int64_t pixels, int channels, const Levels& levels,
             float* out) noexcept {
  look_up_any(in, pixels, channels, levels, out);
}

void look_up(const std::uint8_t* in, std::int64_t pixels, int channels, const Levels& levels,
             Bf16* out) noexcept {
  look_up_any(in, pixels, channels, levels, out);
}

}  // namespace plimsoll::kernels
