#include "boxes/box.h"

#include "boxes/overlap.h"

namespace plimsoll::boxes {

template <class T>
T iou(const Box<T>& a, const Box<T>& b) {
  return overlap(a, area_of(a), b, area_of(b));
}

template <class T>
Box<T> clipped(const Box<T>& box, T height, T width) {
  const auto within = [](T v, T limit) { return smaller(larger(v, T(0)), limit); };
  return {within(box.x0, width), within(box.y0, height), within(box.x1, width),
          within(box.y1, height)};
}

template float iou(const Box<float>&, const Box<float>&);
template double iou(const Box<double>&, const Box<double>&);
template Box<float> clipped(const Box<float>&, float, float);
template Box<double> clipped(const Box<double>&, double, double);

}  // namespace plimsoll::boxes
