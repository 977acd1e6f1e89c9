// The anchors of a detector's levels over its canvas, for ops and for those who ask what they
// reach.
#pragma once

#include <cstdint>
#include <vector>

#include "boxes/anchors.h"
#include "ops/calls.h"

namespace plimsoll {

// A level: its cells, and the anchors of each, which are one or three sizes times the ratios 1:2,
// 1:1 and 2:1.
struct Cells {
  std::int64_t rows = 0, columns = 0;
  std::int64_t anchors = 9;
};
// Of a level with deltas of that spec, [N, 4 * anchors, rows, columns].
Cells cells_of(const Spec& deltas);

// Level l of a pyramid has anchors of base * 2^l and, where there are three sizes, those a third
// and two thirds of an octave above.
std::vector<boxes::AnchorLevel> detection_anchors(std::int64_t canvas_height,
                                                  std::int64_t canvas_width,
                                                  const std::vector<Cells>& levels,
                                                  std::int64_t base);

// As attributes of an op over these levels.
ops::AnchorAttrs attrs_of(std::span<const boxes::AnchorLevel> levels);

}  // namespace plimsoll
