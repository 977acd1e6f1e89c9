#include "tests/support/photographs.h"

#include <cstddef>
#include <cstdio>

#include <jpeglib.h>
#include <png.h>
#include <webp/encode.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/random.h"
#include "data/codec/decode.h"
#include "data/picture/transform.h"

namespace plimsoll {
namespace {

std::string encode_jpeg(const Picture& rgb, PhotographKind kind) {
  jpeg_compress_struct state{};
  jpeg_error_mgr errors{};
  state.err = jpeg_std_error(&errors);
  jpeg_create_compress(&state);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&state, &bytes, &size);
  const bool is_cmyk = kind == PhotographKind::cmyk_jpeg;
  state.image_width = static_cast<JDIMENSION>(rgb.width);
  state.image_height = static_cast<JDIMENSION>(rgb.height);
  state.input_components = is_cmyk ? 4 : 3;
  state.in_color_space = is_cmyk ? JCS_CMYK : JCS_RGB;
  jpeg_set_defaults(&state);
  jpeg_set_quality(&state, 85, TRUE);
  if (kind == PhotographKind::grey_jpeg) jpeg_set_colorspace(&state, JCS_GRAYSCALE);
  if (kind == PhotographKind::progressive_jpeg) jpeg_simple_progression(&state);
  jpeg_start_compress(&state, TRUE);
  // As cameras and editors do: a profile or a preview among the headers.
  const std::vector<JOCTET> profile(20'000, JOCTET{7});
  jpeg_write_marker(&state, JPEG_APP0 + 2, profile.data(), static_cast<unsigned>(profile.size()));
  std::vector<std::uint8_t> row(static_cast<std::size_t>(rgb.width) * 4);
  for (std::int64_t y = 0; y < rgb.height; ++y) {
    const std::uint8_t* from = rgb.row(y);
    for (std::int64_t x = 0, i = 0; x < rgb.width; ++x) {
      for (int c = 0; c < 3; ++c) row[static_cast<std::size_t>(i++)] = *from++;
      if (is_cmyk) row[static_cast<std::size_t>(i++)] = 255;
    }
    JSAMPROW rows = row.data();
    jpeg_write_scanlines(&state, &rows, 1);
  }
  jpeg_finish_compress(&state);
  jpeg_destroy_compress(&state);
  std::string text(reinterpret_cast<const char*>(bytes), size);
  std::free(bytes);
  return text;
}

std::string encode_png(const Picture& rgb, bool interlaced) {
  std::string text;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(
      png, &text,
      [](png_structp of, png_bytep bytes, std::size_t size) {
        static_cast<std::string*>(png_get_io_ptr(of))
            ->append(reinterpret_cast<const char*>(bytes), size);
      },
      nullptr);
  png_set_IHDR(png, info, static_cast<png_uint_32>(rgb.width), static_cast<png_uint_32>(rgb.height),
               8, PNG_COLOR_TYPE_RGB, interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_set_compression_level(png, 1);
  png_set_filter(png, 0, PNG_FILTER_SUB);
  png_write_info(png, info);
  std::vector<png_bytep> rows;
  for (std::int64_t y = 0; y < rgb.height; ++y) rows.push_back(const_cast<png_bytep>(rgb.row(y)));
  png_write_image(png, rows.data());
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return text;
}

std::string encode_webp(const Picture& rgb, bool lossless) {
  WebPConfig config;
  WebPPicture picture;
  expect(WebPConfigInit(&config) != 0 && WebPPictureInit(&picture) != 0, "libwebp's version");
  config.method = 0;
  config.quality = lossless ? 0 : 75;
  config.lossless = lossless ? 1 : 0;
  picture.use_argb = lossless ? 1 : 0;
  picture.width = static_cast<int>(rgb.width);
  picture.height = static_cast<int>(rgb.height);
  WebPMemoryWriter writer;
  WebPMemoryWriterInit(&writer);
  picture.writer = WebPMemoryWrite;
  picture.custom_ptr = &writer;
  const bool done =
      WebPPictureImportRGB(&picture, rgb.pixels.data(), static_cast<int>(rgb.row_bytes())) != 0 &&
      WebPEncode(&config, &picture) != 0;
  expect(done, "a picture that libwebp encodes");
  WebPPictureFree(&picture);
  std::string text(reinterpret_cast<const char*>(writer.mem), writer.size);
  WebPMemoryWriterClear(&writer);
  return text;
}

std::vector<std::filesystem::path> jpeg_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  if (!folder.empty())
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
      if (entry.path().extension() == ".jpg") files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

}  // namespace

std::string encode_photograph(const Picture& rgb, PhotographKind kind) {
  switch (kind) {
    case PhotographKind::png: return encode_png(rgb, false);
    case PhotographKind::interlaced_png: return encode_png(rgb, true);
    case PhotographKind::lossy_webp: return encode_webp(rgb, false);
    case PhotographKind::lossless_webp: return encode_webp(rgb, true);
    default: return encode_jpeg(rgb, kind);
  }
}

Picture make_photograph(Size size, std::uint64_t seed) {
  Picture picture;
  picture.reshape(size.height, size.width, 3);
  std::uint64_t noise = splitmix64(seed + 1);
  const std::uint64_t shape = splitmix64(seed);
  for (std::int64_t y = 0; y < size.height; ++y) {
    std::uint8_t* row = picture.row(y);
    for (std::int64_t x = 0; x < size.width; ++x)
      for (int c = 0; c < 3; ++c) {
        noise = noise * 6364136223846793005U + 1442695040888963407U;
        const auto wave = static_cast<std::int64_t>(shape >> (8 * c) & 31) + 8;
        const std::int64_t level = (x * wave / 64 + y * (wave ^ 5) / 64) & 255;
        *row++ = static_cast<std::uint8_t>(std::min<std::int64_t>(
            255,
            (level < 128 ? 2 * level : 510 - 2 * level) + static_cast<std::int64_t>(noise >> 61)));
      }
  }
  return picture;
}

void write_photographs(const std::filesystem::path& folder, int count, int classes, double most,
                       const std::filesystem::path& originals) {
  constexpr double kLeast = 0.1;
  const std::vector<std::filesystem::path> files = jpeg_files(originals);
  Decoder decoder;
  Picture original;
  for (int i = 0; i < count; ++i) {
    const auto seed = static_cast<std::uint64_t>(i);
    const double share = static_cast<double>(splitmix64(seed) >> 11) * 0x1p-53;
    const double pixels = 1e6 * kLeast * std::pow(most / kLeast, share * share);
    const double ratio = i % 3 == 0 ? 0.75 : 1.5;
    const Size size{.height = std::lround(std::sqrt(pixels / ratio)),
                    .width = std::lround(std::sqrt(pixels * ratio))};
    Picture picture;
    if (files.empty()) {
      picture = make_photograph(size, seed);
    } else {
      const std::string bytes = read_file(files[seed % files.size()], 64_MiB);
      decoder.decode(std::as_bytes(std::span(bytes)), "original", {}, original);
      picture.reshape(size.height, size.width, 3);
      Transformer scale(size, 3, {});
      scale.run(original, {}, {0, 0, original.width, original.height}, {}, picture.pixels.data());
    }
    const auto kind = static_cast<PhotographKind>(i % kPhotographKinds);
    const std::filesystem::path at = folder / ("c" + std::to_string(i % classes));
    make_directories(at);
    // Whatever they are, as browsers save them.
    write_file(at / (std::to_string(i) + ".jpg"), encode_photograph(picture, kind));
  }
}

}  // namespace plimsoll
