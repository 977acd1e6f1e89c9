// Boxes with names and scores, drawn onto the pixels of a picture.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "draw/palette.h"

namespace plimsoll::draw {

// RGB pixels of somebody else's, perhaps a part of a larger picture.
struct PixelView {
  std::uint8_t* pixels = nullptr;
  std::int64_t width = 0, height = 0;
  std::int64_t row_bytes = 0;  // from one row to the next

  std::uint8_t* at(std::int64_t x, std::int64_t y) const { return pixels + y * row_bytes + 3 * x; }
};

// In pixels of the picture: (0, 0) is its upper left corner, (width, height) its lower right one.
struct DrawnBox {
  double x0 = 0, y0 = 0, x1 = 0, y1 = 0;
  std::string name = {};
  double score = -1;       // below 0: none is written
  std::int64_t label = 0;  // for its colour
};

struct BoxStyle {
  std::int64_t line = 2;    // pixels
  std::int64_t letter = 2;  // pixels of the picture for one of the font
};
// What is well seen when a picture of that size is looked at as a whole.
BoxStyle box_style(std::int64_t width, std::int64_t height);

// Draws every box's frame inside its edges, the last first, so that the first are on top. Then
// plates with name and score, in the order of the boxes, each where it hides least: beside the
// frame or in one of its corners, always within the picture. Where there is no room for a plate it
// goes without its score, and at last is left out: the colour tells the class. Of boxes that lie
// partly outside, what is inside is drawn; what is no box is left out.
void draw_boxes(const PixelView& picture, std::span<const DrawnBox> boxes, const BoxStyle& style);

}  // namespace plimsoll::draw
