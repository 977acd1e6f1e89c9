#include "draw/palette.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace plimsoll::draw {
namespace {

// Told apart by those who see no red or no green as well.
constexpr std::array<std::string_view, kPaletteColours> kPalette = {
    "#1f6fb4", "#e07b00", "#2a9d5c", "#b5338a", "#6b4fbb", "#8a6d3b", "#5b6770"};

// The grey one of the palette is lost in a photograph.
constexpr std::int64_t kClassColours = kPaletteColours - 1;

int digit(char c) { return c <= '9' ? c - '0' : c - 'a' + 10; }

Rgb rgb_of(std::string_view hex) {
  const auto channel = [&](std::size_t at) {
    return static_cast<std::uint8_t>(16 * digit(hex[at]) + digit(hex[at + 1]));
  };
  return {channel(1), channel(3), channel(5)};
}

// A full colour of that hue, in turns.
Rgb hue(double turns, double value) {
  const auto channel = [&](double offset) {
    const double k = std::fmod(offset + 6 * turns, 6);
    const double share = value - value * 0.85 * std::clamp(std::min(k, 4 - k), 0.0, 1.0);
    return static_cast<std::uint8_t>(std::lround(255 * share));
  };
  return {channel(5), channel(3), channel(1)};
}

}  // namespace

std::string_view palette(std::size_t i) { return kPalette[i % kPaletteColours]; }

Rgb class_colour(std::int64_t label) {
  if (label >= 0 && label < kClassColours) return rgb_of(palette(static_cast<std::size_t>(label)));
  // Steps of the golden section never come near where they have been.
  const double turns = std::fmod(0.13 + 0.618034 * static_cast<double>(std::abs(label)), 1);
  return hue(turns, label % 2 == 0 ? 0.9 : 0.7);
}

Rgb ink_on(Rgb paper) {
  const int brightness = 299 * paper.red + 587 * paper.green + 114 * paper.blue;
  return brightness > 150'000 ? Rgb{0, 0, 0} : Rgb{255, 255, 255};
}

}  // namespace plimsoll::draw
