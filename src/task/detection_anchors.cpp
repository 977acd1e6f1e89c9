#include "task/detection_anchors.h"

#include <array>

namespace plimsoll {

Cells cells_of(const Spec& deltas) {
  const Shape& shape = deltas.shape;
  return {.rows = shape[2], .columns = shape[3], .anchors = shape[1] / 4};
}

std::vector<boxes::AnchorLevel> detection_anchors(std::int64_t canvas_height,
                                                  std::int64_t canvas_width,
                                                  const std::vector<Cells>& levels,
                                                  std::int64_t base) {
  constexpr std::array<double, 3> kRatios{0.5, 1.0, 2.0};
  std::vector<boxes::AnchorLevel> made;
  for (const Cells& cells : levels) {
    const auto octave = boxes::octave_sizes(base);
    const auto sizes =
        std::span(octave).first(static_cast<std::size_t>(cells.anchors) / kRatios.size());
    made.push_back(boxes::anchor_level(canvas_height, canvas_width, cells.rows, cells.columns,
                                       boxes::anchor_shapes(sizes, kRatios)));
    base *= 2;
  }
  return made;
}

ops::AnchorAttrs attrs_of(std::span<const boxes::AnchorLevel> levels) {
  ops::AnchorAttrs attrs;
  for (const boxes::AnchorLevel& level : levels) {
    attrs.cells.insert(attrs.cells.end(), {level.rows, level.columns});
    attrs.strides.insert(attrs.strides.end(), {level.stride_y, level.stride_x});
    for (const boxes::HalfSides& half : level.shapes)
      attrs.shapes.insert(attrs.shapes.end(), {half.width, half.height});
  }
  return attrs;
}

}  // namespace plimsoll
