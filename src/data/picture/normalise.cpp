// The last pass over an image: bytes to the floats that the network reads.
#include <immintrin.h>

#include <array>

#include "data/picture/transform.h"

namespace plimsoll {
namespace {

// out = ((x / divisor - mean) / deviation) * factor, by steps, as Keras does in float32.
struct Channel {
  float divisor = 1;
  float mean = 0;
  float deviation = 1;
  float factor = 1;
  int source = 0;  // which channel of the picture
};

constexpr std::array<float, 3> kBgrMean = {103.939F, 116.779F, 123.68F};
constexpr std::array<float, 3> kRgbMean = {0.485F, 0.456F, 0.406F};
constexpr std::array<float, 3> kRgbDeviation = {0.229F, 0.224F, 0.225F};

float mean_of(const std::array<float, 3>& three) { return (three[0] + three[1] + three[2]) / 3; }

Channel channel_of(int c, int channels, const Normalisation& how) {
  const bool is_grey = channels == 1;
  const auto at = static_cast<std::size_t>(c);
  Channel channel{.factor = static_cast<float>(how.rescale), .source = c};
  switch (how.mode) {
    case Normalisation::Mode::none: break;
    case Normalisation::Mode::scale: channel.divisor = 255; break;
    case Normalisation::Mode::tf:
      channel.divisor = 127.5F;
      channel.mean = 1;
      break;
    case Normalisation::Mode::caffe:
      channel.mean = is_grey ? mean_of(kBgrMean) : kBgrMean[at];
      channel.source = is_grey ? 0 : 2 - c;
      break;
    case Normalisation::Mode::torch:
      channel.divisor = 255;
      channel.mean = is_grey ? mean_of(kRgbMean) : kRgbMean[at];
      channel.deviation = is_grey ? mean_of(kRgbDeviation) : kRgbDeviation[at];
      break;
  }
  return channel;
}

using Levels = std::array<float, 256>;

Levels levels_of(const Channel& channel) {
  Levels levels{};
  for (std::size_t i = 0; i < levels.size(); ++i)
    levels[i] = (static_cast<float>(i) / channel.divisor - channel.mean) / channel.deviation *
                channel.factor;
  return levels;
}

// Eight bytes, one every `channels`, as indices into the table of their channel.
void convert(const std::uint8_t* in, std::int64_t pixels, int channels, const Levels& levels,
             float* out) {
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
      _mm256_storeu_ps(out + i, _mm256_i32gather_ps(levels.data(), _mm256_cvtepu8_epi32(bytes), 4));
    }
  }
  for (; i < pixels; ++i) out[i] = levels[in[i * channels]];
}

}  // namespace

void normalise(const std::uint8_t* hwc, Size size, int channels, const Normalisation& how,
               float* chw) noexcept {
  const std::int64_t plane = size.width * size.height;
  for (int c = 0; c < channels; ++c) {
    const Channel channel = channel_of(c, channels, how);
    convert(hwc + channel.source, plane, channels, levels_of(channel), chw + c * plane);
  }
}

}  // namespace plimsoll
