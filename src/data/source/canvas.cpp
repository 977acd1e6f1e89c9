#include "data/source/canvas.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/error.h"
#include "data/source/annotations.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kMultiple = 32;
constexpr double kMostAspect = 4;

// The logarithm of width to height, in the middle of all.
double median_shape(std::span<const Size> pictures, Size network) {
  std::vector<double> shapes;
  for (const Size& size : pictures)
    if (is_frame(size))
      shapes.push_back(
          std::log(static_cast<double>(size.width) / static_cast<double>(size.height)));
  if (shapes.empty())
    return std::log(static_cast<double>(network.width) / static_cast<double>(network.height));
  const auto middle = shapes.begin() + std::ssize(shapes) / 2;
  std::ranges::nth_element(shapes, middle);
  if (shapes.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(shapes.begin(), middle)) / 2;
}

}  // namespace

Size canvas_for(std::span<const Size> pictures, Size network) {
  expect(is_frame(network), "a size that a network is made for");
  const double most = std::log(kMostAspect);
  const double shape = std::clamp(median_shape(pictures, network), -most, most);
  const double area =
      std::log(static_cast<double>(network.height)) + std::log(static_cast<double>(network.width));
  const std::int64_t longest =
      2 * std::max(network.height, network.width) + 2 * kMultiple;  // aspects of up to 4
  Size best;
  double least = std::numeric_limits<double>::infinity();
  for (std::int64_t height = kMultiple; height <= longest; height += kMultiple)
    for (std::int64_t width = kMultiple; width <= longest; width += kMultiple) {
      const double h = std::log(static_cast<double>(height));
      const double w = std::log(static_cast<double>(width));
      const double off_area = h + w - area;
      const double off_shape = w - h - shape;
      const double cost = off_area * off_area + off_shape * off_shape;
      // Of equals the first, which is the smaller one.
      if (cost < least) {
        least = cost;
        best = {.height = height, .width = width};
      }
    }
  return best;
}

Size canvas_for(const Source& source, Size network) {
  std::vector<Size> sizes;
  sizes.reserve(static_cast<std::size_t>(source.size()));
  for (std::int64_t i = 0; i < source.size(); ++i) sizes.push_back(source.annotated_size(i));
  return canvas_for(sizes, network);
}

}  // namespace plimsoll
