#include "data/source/upright_box.h"

#include <algorithm>
#include <utility>

#include "data/picture/orientation.h"

namespace plimsoll {

Box upright_box(const Box& box, const ImageInfo& info, Size annotated) {
  const Size stored_size{.height = info.stored_height, .width = info.stored_width};
  if (info.orientation == 1 || (annotated == info.size() && annotated != stored_size)) return box;
  const auto turn = [&](float x, float y) {
    const Point point =
        upright(Point{.x = static_cast<double>(x) * static_cast<double>(stored_size.width),
                      .y = static_cast<double>(y) * static_cast<double>(stored_size.height)},
                info.orientation, stored_size);
    return std::pair(static_cast<float>(point.x / static_cast<double>(info.width)),
                     static_cast<float>(point.y / static_cast<double>(info.height)));
  };
  const auto [ax, ay] = turn(box.x0, box.y0);
  const auto [bx, by] = turn(box.x1, box.y1);
  Box result = box;
  // An inverted box stays one, so that it is still seen to be wrong.
  const bool inverted_x = box.x1 < box.x0;
  const bool inverted_y = box.y1 < box.y0;
  std::tie(result.x0, result.x1) = std::minmax(ax, bx);
  std::tie(result.y0, result.y1) = std::minmax(ay, by);
  const bool swap = is_transposed(info.orientation);
  if (swap ? inverted_y : inverted_x) std::swap(result.x0, result.x1);
  if (swap ? inverted_x : inverted_y) std::swap(result.y0, result.y1);
  return result;
}

}  // namespace plimsoll
