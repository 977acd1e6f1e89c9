// Pictures like those people have: of every kind that is read, of any size.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "data/picture/picture.h"

namespace plimsoll {

enum class PhotographKind {
  baseline_jpeg,
  progressive_jpeg,
  cmyk_jpeg,
  grey_jpeg,
  png,
  interlaced_png,
  lossy_webp,
  lossless_webp,
};
inline constexpr int kPhotographKinds = 8;

// An image file of an RGB picture.
std::string encode_photograph(const Picture& rgb, PhotographKind kind);

// Smooth colours with some noise, different for every seed.
Picture make_photograph(Size size, std::uint64_t seed);

// `count` files 0.jpg, 1.jpg, ... of all kinds in `classes` folders c0, c1, ..., of 0.1 to `most`
// megapixels, the small ones more often. They are scaled copies of the JPEG files below
// `originals`, made ones where that is empty.
void write_photographs(const std::filesystem::path& folder, int count, int classes, double most,
                       const std::filesystem::path& originals = {});

}  // namespace plimsoll
