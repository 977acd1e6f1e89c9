#include "boxes/anchors.h"

#include <cmath>

#include "base/error.h"

namespace plimsoll::boxes {

std::vector<HalfSides> anchor_shapes(std::span<const std::int64_t> sizes,
                                     std::span<const double> ratios) {
  // nearbyint rounds half to even: nobody here changes the mode.
  const auto half = [](float side) { return static_cast<std::int64_t>(std::nearbyint(side / 2)); };
  std::vector<HalfSides> shapes;
  for (const double ratio : ratios) {
    const float by_height = std::sqrt(static_cast<float>(ratio));
    const float by_width = 1 / by_height;
    for (const std::int64_t size : sizes) {
      const auto side = static_cast<float>(size);
      shapes.push_back({half(by_width * side), half(by_height * side)});
    }
  }
  return shapes;
}

std::vector<std::int64_t> octave_sizes(std::int64_t base) {
  const auto part = [&](double octaves) {
    return static_cast<std::int64_t>(static_cast<double>(base) * std::pow(2.0, octaves));
  };
  return {base, part(1.0 / 3), part(2.0 / 3)};
}

AnchorLevel anchor_level(std::int64_t canvas_height, std::int64_t canvas_width, std::int64_t rows,
                         std::int64_t columns, std::vector<HalfSides> shapes) {
  expect(rows > 0 && columns > 0 && rows <= canvas_height && columns <= canvas_width,
         "a level has cells, and no more than its canvas has pixels");
  return {.rows = rows,
          .columns = columns,
          .stride_y = canvas_height / rows,
          .stride_x = canvas_width / columns,
          .shapes = std::move(shapes)};
}

}  // namespace plimsoll::boxes
