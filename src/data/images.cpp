#include "data/images.h"

#include <array>
#include <cstddef>

#include "base/error.h"

namespace plimsoll {
namespace {

// Divided once per value: the same rounding as Keras's float32 x / 127.5 - 1.
constexpr std::array<float, 256> make_scale() {
  std::array<float, 256> scale{};
  for (std::size_t i = 0; i < scale.size(); ++i) scale[i] = static_cast<float>(i) / 127.5F - 1.0F;
  return scale;
}
constexpr std::array<float, 256> kScale = make_scale();

void check_range(const Images& images, const Order& order, std::int64_t first,
                 std::int64_t count) noexcept {
  expect(order.size() == images.count, "an order of other images");
  expect(first >= 0 && count >= 0 && first <= images.count - count, "a batch outside the images");
}

}  // namespace

Bytes Images::bytes() const {
  return {static_cast<std::int64_t>(pixels.size() * sizeof(pixels[0]) +
                                    labels.size() * sizeof(labels[0]))};
}

void fill_batch(const Images& images, const Order& order, std::int64_t first, std::int64_t count,
                float* nchw) noexcept {
  check_range(images, order, first, count);
  const std::int64_t plane = images.height * images.width;
  for (std::int64_t k = first; k < first + count; ++k) {
    const std::uint8_t* image = images.pixels.data() + order[k] * images.pixels_per_image();
    for (std::int64_t c = 0; c < images.channels; ++c)
      for (std::int64_t i = 0; i < plane; ++i) *nchw++ = kScale[image[i * images.channels + c]];
  }
}

void fill_labels(const Images& images, const Order& order, std::int64_t first, std::int64_t count,
                 std::int32_t* labels) noexcept {
  check_range(images, order, first, count);
  for (std::int64_t k = first; k < first + count; ++k)
    *labels++ = images.labels[static_cast<std::size_t>(order[k])];
}

}  // namespace plimsoll
