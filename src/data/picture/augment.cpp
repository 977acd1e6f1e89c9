#include "data/picture/augment.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/random.h"

namespace plimsoll {
namespace {

// Every use has a place of its own, so that one more augmentation changes no other's numbers.
enum class Use : std::uint64_t {
  crop_at,
  rotation,
  shift,
  zoom,
  shear_and_channel,
  flips,
  brightness_and_contrast,
  saturation_and_hue,
  cutout_at,
  mixup_with,
  crop_tries = 32,
  mixup = 64,
};

// Numbers of one sample.
class Dice {
 public:
  Dice(std::uint64_t seed, std::int64_t epoch, std::int64_t index)
      : index_(static_cast<std::uint64_t>(index)) {
    const PhiloxBlock block = philox(seed, static_cast<std::uint64_t>(epoch), fnv1a64("augment"));
    key_ = static_cast<std::uint64_t>(block[1]) << 32 | block[0];
  }

  std::uint64_t bits(Use use, std::uint64_t n, std::size_t half) const {
    const PhiloxBlock block = philox(key_, index_, static_cast<std::uint64_t>(use) + n);
    return static_cast<std::uint64_t>(block[2 * half + 1]) << 32 | block[2 * half];
  }
  // In [0, 1). `half` tells the two numbers of one block apart.
  double unit(Use use, std::size_t half, std::uint64_t n = 0) const {
    return static_cast<double>(bits(use, n, half) >> 11) * 0x1p-53;
  }
  double in(const Range& range, Use use, std::size_t half, std::uint64_t n = 0) const {
    return range.low + (range.high - range.low) * unit(use, half, n);
  }
  double around_zero(double reach, Use use, std::size_t half) const {
    return in({-reach, reach}, use, half);
  }

 private:
  std::uint64_t key_ = 0;
  std::uint64_t index_;
};

// Marsaglia and Tsang, "A simple method for generating gamma variables" (2000). `n` counts the
// blocks used.
double gamma_variate(double shape, const Dice& dice, std::uint64_t& n) {
  if (shape < 1) {
    const double u = 1 - dice.unit(Use::mixup, 0, n++);
    return gamma_variate(shape + 1, dice, n) * std::pow(u, 1 / shape);
  }
  const double d = shape - 1.0 / 3.0;
  const double c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double u1 = 1 - dice.unit(Use::mixup, 0, n);
    const double u2 = dice.unit(Use::mixup, 1, n++);
    const double normal = std::sqrt(-2 * std::log(u1)) * std::cos(2 * std::numbers::pi * u2);
    const double base = 1 + c * normal;
    if (base <= 0) continue;
    const double v = base * base * base;
    const double u = 1 - dice.unit(Use::mixup, 0, n++);
    if (std::log(u) < 0.5 * normal * normal + d - d * v + d * std::log(v)) return d * v;
  }
}

// A share of the other picture; whichever is the larger share is called this picture's.
double mixup_share(double alpha, const Dice& dice) {
  std::uint64_t n = 0;
  const double a = gamma_variate(alpha, dice, n);
  const double b = gamma_variate(alpha, dice, n);
  const double share = a + b > 0 ? a / (a + b) : 0;
  return std::min(share, 1 - share);
}

}  // namespace

Draw draw_augment(const Augment& augment, std::uint64_t seed, std::int64_t epoch,
                  std::int64_t index) {
  const Dice dice(seed, epoch, index);
  Draw draw{.fill_mode = augment.fill_mode, .cval = augment.cval};
  if (augment.random_resized_crop) {
    const RandomResizedCrop& crop = *augment.random_resized_crop;
    const Range log_ratio{std::log(crop.ratio.low), std::log(crop.ratio.high)};
    std::array<Draw::CropTry, 10> tries{};
    for (std::size_t i = 0; i < tries.size(); ++i)
      tries[i] = {.area = dice.in(crop.scale, Use::crop_tries, 0, i),
                  .ratio = std::exp(dice.in(log_ratio, Use::crop_tries, 1, i))};
    draw.crop = tries;
    draw.crop_at = {dice.unit(Use::crop_at, 0), dice.unit(Use::crop_at, 1)};
  }
  draw.rotation = dice.around_zero(augment.rotation_range, Use::rotation, 0);
  const double shift_x = dice.around_zero(augment.width_shift_range, Use::shift, 0);
  const double shift_y = dice.around_zero(augment.height_shift_range, Use::shift, 1);
  (augment.width_shift_range < 1 ? draw.shift_x_share : draw.shift_x_pixels) = shift_x;
  (augment.height_shift_range < 1 ? draw.shift_y_share : draw.shift_y_pixels) = shift_y;
  draw.zoom_x = dice.in(augment.zoom_range, Use::zoom, 0);
  draw.zoom_y = dice.in(augment.zoom_range, Use::zoom, 1);
  draw.shear = dice.around_zero(augment.shear_range, Use::shear_and_channel, 0);
  draw.channel_shift = dice.around_zero(augment.channel_shift_range, Use::shear_and_channel, 1);
  draw.horizontal_flip = augment.horizontal_flip && dice.unit(Use::flips, 0) < 0.5;
  draw.vertical_flip = augment.vertical_flip && dice.unit(Use::flips, 1) < 0.5;
  if (augment.brightness_range)
    draw.brightness = dice.in(*augment.brightness_range, Use::brightness_and_contrast, 0);
  if (augment.contrast) draw.contrast = dice.in(*augment.contrast, Use::brightness_and_contrast, 1);
  if (augment.saturation)
    draw.saturation = dice.in(*augment.saturation, Use::saturation_and_hue, 0);
  draw.hue = dice.around_zero(augment.hue, Use::saturation_and_hue, 1);
  draw.cutout = augment.cutout;
  if (augment.cutout > 0)
    draw.cutout_at = {dice.unit(Use::cutout_at, 0), dice.unit(Use::cutout_at, 1)};
  if (augment.mixup > 0) {
    draw.mixup = mixup_share(augment.mixup, dice);
    draw.mixup_with = dice.bits(Use::mixup_with, 0, 0);
  }
  return draw;
}

Rect crop_of(const Draw& draw, Size image) {
  if (!draw.crop) return {0, 0, image.width, image.height};
  const auto area = static_cast<double>(image.width * image.height);
  std::int64_t width = 0;
  std::int64_t height = 0;
  for (const Draw::CropTry& crop : *draw.crop) {
    width = std::max<std::int64_t>(std::llround(std::sqrt(area * crop.area * crop.ratio)), 1);
    height = std::max<std::int64_t>(std::llround(std::sqrt(area * crop.area / crop.ratio)), 1);
    if (width <= image.width && height <= image.height) break;
  }
  // Where none fits (a very long image), the last is cut off.
  width = std::min(width, image.width);
  height = std::min(height, image.height);
  const auto place = [](double share, std::int64_t room) {
    return std::min(static_cast<std::int64_t>(share * static_cast<double>(room + 1)), room);
  };
  return {place(draw.crop_at.low, image.width - width),
          place(draw.crop_at.high, image.height - height), width, height};
}

Rect centred_crop(Size image, Size out) {
  // Rounded down, as Keras does.
  const std::int64_t height = std::min(image.height, image.width * out.height / out.width);
  const std::int64_t width = std::min(image.width, image.height * out.width / out.height);
  const Rect rect{0, 0, std::max<std::int64_t>(width, 1), std::max<std::int64_t>(height, 1)};
  return {(image.width - rect.width) / 2, (image.height - rect.height) / 2, rect.width,
          rect.height};
}

void mix(std::uint8_t* pixels, const std::uint8_t* other, std::int64_t count,
         double share) noexcept {
  constexpr int kBits = 14;
  const int theirs = static_cast<int>(std::lround(share * (1 << kBits)));
  const int ours = (1 << kBits) - theirs;
  for (std::int64_t i = 0; i < count; ++i)
    pixels[i] = static_cast<std::uint8_t>(
        (pixels[i] * ours + other[i] * theirs + (1 << (kBits - 1))) >> kBits);
}

}  // namespace plimsoll
