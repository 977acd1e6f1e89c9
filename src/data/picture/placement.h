// Where a picture lies on the canvas that a network is given.
#pragma once

#include <cstdint>
#include <string_view>

#include "data/picture/picture.h"

namespace plimsoll {

enum class Fit {
  squeeze,    // a picture becomes as wide and as high as the canvas
  letterbox,  // it keeps its shape, lies at the top left, and the rest of the canvas is zero
};

// "squeeze", "letterbox". UsageError otherwise.
Fit parse_fit(std::string_view text, std::string_view where = "fit");
std::string_view to_text(Fit fit);

// Where a picture lies on the canvas: at its top left.
struct CanvasPlacement {
  Size image;           // upright, as decoded
  Size extent;          // of the canvas that it covers
  int orientation = 1;  // EXIF's: how its rows were stored

  bool operator==(const CanvasPlacement&) const = default;
};

// A box in pixels of the canvas, within the extent of its picture.
struct PlacedBox {
  float x0 = 0, y0 = 0, x1 = 0, y1 = 0;
  std::int32_t label = 0;

  bool operator==(const PlacedBox&) const = default;
};

// What `shown`, all of a picture or the part of it that was cut out, covers of the canvas. A
// letterbox scales by s = min(canvas / shown) of both sides, to floor(side * s), as torchvision
// does, and to 1 at least.
Size extent_of(Size shown, Size canvas, Fit fit);

// The most that a side of pictures up to `largest` is reduced by, for each axis: as width and
// height of what one pixel of the canvas stands for.
struct Reduction {
  double height = 1;
  double width = 1;
};
Reduction most_reduction(Size largest, Size canvas, Fit fit);

// Moves rows that lie without a gap at the beginning of a canvas to where they belong on it, and
// makes the rest zero. `hwc` is [canvas.height][canvas.width][channels].
void spread(std::uint8_t* hwc, Size extent, Size canvas, int channels) noexcept;

}  // namespace plimsoll
