// A rectangle by two corners, and how much two of them share.
#pragma once

namespace plimsoll::boxes {

// Four numbers in this order, so that a row of a tensor is one.
template <class T>
struct Box {
  T x0 = 0;
  T y0 = 0;
  T x1 = 0;
  T y1 = 0;
  bool operator==(const Box&) const = default;

  T width() const { return x1 - x0; }
  T height() const { return y1 - y0; }
};
static_assert(sizeof(Box<float>) == 4 * sizeof(float));

// Intersection over union, i / (a + b - i), symmetric to the bit; 0 where they do not meet, also
// for boxes without area. Exactly torchvision's box_iou in the same type.
template <class T>
T iou(const Box<T>& a, const Box<T>& b);

// What lies within [0, width] x [0, height].
template <class T>
Box<T> clipped(const Box<T>& box, T height, T width);

}  // namespace plimsoll::boxes
