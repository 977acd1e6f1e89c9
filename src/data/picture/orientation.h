// Orientation, as EXIF and XMP have it: how the stored rows of an image are to be turned, for
// pixels and boxes alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "data/picture/picture.h"

namespace plimsoll {

// The orientation (1..8) that an EXIF block, which begins with its TIFF header, asks for: 1 where
// it asks for an impossible one, nothing where it says nothing or cannot be read. A broken EXIF
// block does not make a picture unreadable.
std::optional<int> exif_orientation(std::span<const std::byte> tiff);

// The same of an XMP packet: tiff:Orientation as attribute or element, found as Pillow finds it. It
// counts where EXIF says nothing.
std::optional<int> xmp_orientation(std::span<const std::byte> packet);

// How a stored image becomes the upright one: a transposition, then mirrors.
struct Turn {
  bool transpose = false;
  bool mirror_x = false;
  bool mirror_y = false;
};
Turn turn_of(int orientation);

// Whether it exchanges width and height (5..8).
constexpr bool is_transposed(int orientation) { return orientation >= 5; }

// The size of the upright image, from the stored one.
constexpr Size upright(Size stored, int orientation) {
  return is_transposed(orientation) ? Size{stored.width, stored.height} : stored;
}

// A rectangle of the stored image of size `stored`, in coordinates of the upright one; and back.
Rect upright(const Rect& stored_rect, int orientation, Size stored);
Rect stored(const Rect& upright_rect, int orientation, Size stored);

// The same for a point of continuous coordinates (0, 0) .. (width, height).
struct Point {
  double x = 0;
  double y = 0;
};
Point upright(Point stored_point, int orientation, Size stored);

// Writes row y of a stored picture of that size to where it belongs in the upright one, which has
// its shape already.
void turn_row(const std::uint8_t* row, std::int64_t y, Size stored, int orientation, Picture& to);

}  // namespace plimsoll
