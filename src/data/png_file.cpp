#include "data/png_file.h"

#include <png.h>

#include <cstring>
#include <string>

#include "base/error.h"
#include "base/files.h"

namespace plimsoll {

void write_png(const std::filesystem::path& path, const Picture& picture) {
  png_image image;
  std::memset(&image, 0, sizeof image);
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(picture.width);
  image.height = static_cast<png_uint_32>(picture.height);
  image.format = picture.channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::string bytes(size, '\0');
  if (png_image_write_to_memory(&image, bytes.data(), &size, 0, picture.pixels.data(), 0,
                                nullptr) == 0)
    throw DataError({.where = path.string(),
                     .got = std::string("cannot make the PNG: ") + image.message,
                     .expected = "expected a picture that fits into one"});
  bytes.resize(size);
  write_file(path, bytes);
}

}  // namespace plimsoll
