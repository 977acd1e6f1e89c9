#include "data/picture/placement.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "base/error.h"
#include "base/text.h"

namespace plimsoll {
namespace {

constexpr std::array<std::string_view, 2> kFits = {"squeeze", "letterbox"};

}  // namespace

Fit parse_fit(std::string_view text, std::string_view where) {
  for (std::size_t i = 0; i < kFits.size(); ++i)
    if (kFits[i] == text) return static_cast<Fit>(i);
  throw UsageError({.where = std::string(where),
                    .got = "'" + std::string(text) + "'",
                    .expected = "expected squeeze or letterbox",
                    .hint = did_you_mean(nearest(text, kFits))});
}

std::string_view to_text(Fit fit) { return kFits.at(static_cast<std::size_t>(fit)); }

Size extent_of(Size shown, Size canvas, Fit fit) {
  if (fit == Fit::squeeze) return canvas;
  // In whole numbers: floor(side * s) is then exact, and the side that decides fills the canvas.
  const bool by_width = canvas.width * shown.height <= canvas.height * shown.width;
  if (by_width)
    return {.height = std::max<std::int64_t>(1, shown.height * canvas.width / shown.width),
            .width = canvas.width};
  return {.height = canvas.height,
          .width = std::max<std::int64_t>(1, shown.width * canvas.height / shown.height)};
}

Reduction most_reduction(Size largest, Size canvas, Fit fit) {
  const auto ratio = [](std::int64_t a, std::int64_t b) {
    return static_cast<double>(a) / static_cast<double>(b);
  };
  const Reduction squeezed{.height = ratio(largest.height, canvas.height),
                           .width = ratio(largest.width, canvas.width)};
  if (fit == Fit::squeeze) return squeezed;
  // Both sides shrink alike, and rounding down at most halves what is left of one.
  const double both = 2 * std::max({squeezed.height, squeezed.width, 1.0});
  return {.height = both, .width = both};
}

void spread(std::uint8_t* hwc, Size extent, Size canvas, int channels) noexcept {
  const auto row = static_cast<std::size_t>(canvas.width * channels);
  const auto used = static_cast<std::size_t>(extent.width * channels);
  // From the last row: each goes further than where it lies.
  for (std::int64_t y = extent.height - 1; y >= 0; --y) {
    std::uint8_t* to = hwc + static_cast<std::size_t>(y) * row;
    std::memmove(to, hwc + static_cast<std::size_t>(y) * used, used);
    std::memset(to + used, 0, row - used);
  }
  std::memset(hwc + static_cast<std::size_t>(extent.height) * row, 0,
              static_cast<std::size_t>(canvas.height - extent.height) * row);
}

}  // namespace plimsoll
