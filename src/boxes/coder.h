// Boxes as what a network says of them: offsets from an anchor.
#pragma once

#include <array>

#include "boxes/box.h"

namespace plimsoll::boxes {

// dx, dy, dw, dh.
template <class T>
using Deltas = std::array<T, 4>;

// dx = wx (gx - ax) / aw and dw = ww ln(gw / aw), of centres and sizes; likewise y and h. Decoding
// cuts dw / ww and dh / wh from above at ln(1000 / 16), so that no size overflows.
template <class T>
struct Coder {
  Deltas<T> weights{1, 1, 1, 1};

  // Wants both boxes with positive sides.
  Deltas<T> encode(const Box<T>& anchor, const Box<T>& box) const;
  Box<T> decode(const Box<T>& anchor, const Deltas<T>& deltas) const;
  // The gradient by the deltas of what has gradient `slope` by the corners of the decoded box; 0
  // for a size that was cut.
  Deltas<T> decode_slope(const Box<T>& anchor, const Deltas<T>& deltas, const Box<T>& slope) const;
};

inline constexpr double kMostLogScale = 4.135166556742356;  // ln(1000 / 16)

}  // namespace plimsoll::boxes
