#include "draw/png.h"

#include <png.h>

#include <cstring>
#include <utility>

#include "base/error.h"

namespace plimsoll::draw {

std::string encode_png(std::int64_t width, std::int64_t height, std::int64_t channels,
                       std::span<const std::uint8_t> pixels) {
  expect(channels == 1 || channels == 3, "a picture is grey or RGB");
  expect(std::cmp_equal(pixels.size(), width * height * channels), "a picture has all its pixels");
  png_image image;
  std::memset(&image, 0, sizeof image);
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::string bytes(size, '\0');
  if (png_image_write_to_memory(&image, bytes.data(), &size, 0, pixels.data(), 0, nullptr) == 0)
    throw DataError(
        {.where = "PNG", .got = std::string("cannot be made: ") + image.message, .expected = {}});
  bytes.resize(size);
  bytes.shrink_to_fit();
  return bytes;
}

}  // namespace plimsoll::draw
