// Colours that are told apart, and the same for the same thing in every picture.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace plimsoll::draw {

struct Rgb {
  std::uint8_t red = 0, green = 0, blue = 0;
  bool operator==(const Rgb&) const = default;
};

// "#1f6fb4": the i-th; they begin again after kPaletteColours.
inline constexpr std::size_t kPaletteColours = 7;
std::string_view palette(std::size_t i);

// Of class `label`: the palette's for the first, then others, all bright enough for photographs.
Rgb class_colour(std::int64_t label);

// Black or white, whichever is read more easily on it.
Rgb ink_on(Rgb paper);

}  // namespace plimsoll::draw
