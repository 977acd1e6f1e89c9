#include "tensor/convert.h"

namespace plimsoll {
namespace {

// Calls body(i, element) for consecutive logical elements, carrying the index along.
template <class Body>
void walk(const TensorView& view, std::int64_t first, std::size_t count, Body body) {
  const Shape& shape = view.spec.shape;
  std::int64_t index[Shape::kMaxRank] = {};
  std::int64_t rest = first;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    index[axis] = rest % shape[axis];
    rest /= shape[axis];
  }
  for (std::size_t i = 0; i < count; ++i) {
    body(i, view.at<float>(index[0], index[1], index[2], index[3]));
    for (int axis = shape.rank() - 1; axis >= 0 && ++index[axis] == shape[axis]; --axis)
      index[axis] = 0;
  }
}

}  // namespace

void read_elements(const TensorView& view, std::int64_t first, std::span<float> out) {
  walk(view, first, out.size(), [&](std::size_t i, float& element) { out[i] = element; });
}

void write_elements(const TensorView& view, std::int64_t first, std::span<const float> in) {
  walk(view, first, in.size(), [&](std::size_t i, float& element) { element = in[i]; });
}

}  // namespace plimsoll
