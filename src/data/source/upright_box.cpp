#include "data/source/upright_box.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "data/picture/orientation.h"
#include "data/source/annotations.h"

namespace plimsoll {
namespace {

// To a frame of another size.
Box scaled(const Box& box, Size from, Size to) {
  const double x = static_cast<double>(to.width) / static_cast<double>(from.width);
  const double y = static_cast<double>(to.height) / static_cast<double>(from.height);
  Box result = box;
  result.x0 = to_corner(static_cast<double>(box.x0) * x);
  result.x1 = to_corner(static_cast<double>(box.x1) * x);
  result.y0 = to_corner(static_cast<double>(box.y0) * y);
  result.y1 = to_corner(static_cast<double>(box.y1) * y);
  result.area = to_corner(static_cast<double>(box.area) * x * y);
  return result;
}

}  // namespace

Box upright_box(const Box& given, Size annotated, Size image, int orientation) {
  // Either way of a transposition exchanges the sides.
  const Size stored = upright(image, orientation);
  if (annotated == image && (orientation == 1 || annotated != stored)) return given;
  const bool is_scaled = is_frame(annotated) && annotated != stored;
  const Box box = is_scaled ? scaled(given, annotated, stored) : given;
  if (orientation == 1) return box;
  const auto turn = [&](float x, float y) {
    const Point point = upright(Point{.x = static_cast<double>(x), .y = static_cast<double>(y)},
                                orientation, stored);
    return std::pair(to_corner(point.x), to_corner(point.y));
  };
  const auto [ax, ay] = turn(box.x0, box.y0);
  const auto [bx, by] = turn(box.x1, box.y1);
  Box result = box;
  // An inverted box stays one, so that it is still seen to be wrong.
  const bool inverted_x = box.x1 < box.x0;
  const bool inverted_y = box.y1 < box.y0;
  std::tie(result.x0, result.x1) = std::minmax(ax, bx);
  std::tie(result.y0, result.y1) = std::minmax(ay, by);
  const bool swap = is_transposed(orientation);
  if (swap ? inverted_y : inverted_x) std::swap(result.x0, result.x1);
  if (swap ? inverted_x : inverted_y) std::swap(result.y0, result.y1);
  return result;
}

Box upright_box(const Box& box, const ImageInfo& info, Size annotated) {
  return upright_box(box, annotated, info.size(), info.orientation);
}

}  // namespace plimsoll
