#include "tensor/convert.h"

#include <array>
#include <numeric>

namespace plimsoll {
namespace {

// Calls body(i, element) for consecutive elements, carrying the index along.
template <class Body>
void walk(const TensorView& view, std::int64_t first, std::size_t count, AxisOrder order,
          Body body) {
  const Shape& shape = view.spec.shape;
  std::array<int, Shape::kMaxRank> own{};
  std::iota(own.begin(), own.end(), 0);
  if (order.empty()) order = AxisOrder(own).first(static_cast<std::size_t>(shape.rank()));
  std::int64_t index[Shape::kMaxRank] = {};
  std::int64_t rest = first;
  for (std::size_t k = order.size(); k-- > 0; rest /= shape[order[k]])
    index[order[k]] = rest % shape[order[k]];
  for (std::size_t i = 0; i < count; ++i) {
    body(i, view.at<float>(index[0], index[1], index[2], index[3]));
    for (std::size_t k = order.size(); k-- > 0 && ++index[order[k]] == shape[order[k]];)
      index[order[k]] = 0;
  }
}

}  // namespace

void read_elements(const TensorView& view, std::int64_t first, std::span<float> out,
                   AxisOrder order) {
  walk(view, first, out.size(), order, [&](std::size_t i, float& element) { out[i] = element; });
}

void write_elements(const TensorView& view, std::int64_t first, std::span<const float> in,
                    AxisOrder order) {
  walk(view, first, in.size(), order, [&](std::size_t i, float& element) { element = in[i]; });
}

}  // namespace plimsoll
