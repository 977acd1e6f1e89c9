// The last pass over an image: bytes to the floats that the network reads.
#include <array>

#include "data/picture/transform.h"
#include "kernels/levels.h"

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
constexpr std::array<float, 3> kSlimMean = {123.68F, 116.78F, 103.94F};
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
    case Normalisation::Mode::slim:
      channel.mean = is_grey ? mean_of(kSlimMean) : kSlimMean[at];
      break;
  }
  return channel;
}

kernels::Levels levels_of(const Channel& channel) {
  kernels::Levels levels{};
  for (std::size_t i = 0; i < levels.size(); ++i)
    levels[i] = (static_cast<float>(i) / channel.divisor - channel.mean) / channel.deviation *
                channel.factor;
  return levels;
}

template <class T>
void normalise_any(const std::uint8_t* hwc, Size size, int channels, const Normalisation& how,
                   T* chw) {
  const std::int64_t plane = size.width * size.height;
  for (int c = 0; c < channels; ++c) {
    const Channel channel = channel_of(c, channels, how);
    kernels::look_up(hwc + channel.source, plane, channels, levels_of(channel), chw + c * plane);
  }
}

}  // namespace

void normalise(const std::uint8_t* hwc, Size size, int channels, const Normalisation& how,
               float* chw) noexcept {
  normalise_any(hwc, size, channels, how, chw);
}

void normalise(const std::uint8_t* hwc, Size size, int channels, const Normalisation& how,
               Bf16* chw) noexcept {
  normalise_any(hwc, size, channels, how, chw);
}

}  // namespace plimsoll
