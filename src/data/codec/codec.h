// What decode.cpp and the files of one format each (jpeg, png, webp, bmp, gif) share. Codecs know
// stored coordinates only: orientation, limits and the sharing of buffers are decode.cpp's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "data/codec/decode.h"

namespace plimsoll {

// An image file in memory, and its name in messages.
struct EncodedImage {
  std::span<const std::byte> bytes;
  std::string_view where;
  ImageFormat format;
};

// What to decode: a part, not empty and within the stored image, at 1 / scale.
struct StoredRequest {
  int channels = 3;
  Rect crop;
  std::int64_t scale = 1;
  bool thorough = false;
};

// What codecs work with: the room that everything they need is taken from, and the one library
// that keeps a state from image to image.
class JpegLibrary;
struct CodecTools {
  Room& room;
  JpegLibrary& jpeg;
};

// Throws a DataError at that byte of the file, or for the whole of it.
[[noreturn]] void fail_image(const EncodedImage& image, std::optional<std::size_t> byte,
                             std::string got, std::string expected = {}, std::string hint = {});

// Big- or little-endian numbers at an offset; a DataError where the file ends before.
enum class Endian { big, little };
std::uint32_t read_number(const EncodedImage& image, std::size_t offset, std::size_t size,
                          Endian endian);

// Whether the bytes begin with that text.
bool begins(std::span<const std::byte> bytes, std::string_view text);

// Refuses images without pixels, and sides beyond 2^24, so that no product of sizes overflows.
void check_sides(const EncodedImage& image, const ImageInfo& info);

// Luma of ITU-R 601, with Pillow's rounding.
constexpr std::uint8_t luma(unsigned red, unsigned green, unsigned blue) {
  return static_cast<std::uint8_t>((red * 19595 + green * 38470 + blue * 7471 + 0x8000) >> 16);
}

// Writes one pixel as grey or RGB.
inline void put_pixel(std::uint8_t* out, int channels, std::uint8_t red, std::uint8_t green,
                      std::uint8_t blue) {
  if (channels == 1) {
    out[0] = luma(red, green, blue);
  } else {
    out[0] = red;
    out[1] = green;
    out[2] = blue;
  }
}

// Each format: its headers; the most its decoder takes from the room, a row of its own included;
// and its pixels, row by row. `info` is that of the same bytes. What does not fit into the room is
// a DataError, as any damage.
ImageInfo probe_jpeg(const EncodedImage& image);
Bytes jpeg_bytes(const ImageInfo& info, const StoredRequest& request);
StoredPart decode_jpeg(const EncodedImage& image, const ImageInfo& info,
                       const StoredRequest& request, const CodecTools& tools, RowSink& sink);

ImageInfo probe_png(const EncodedImage& image);
Bytes png_bytes(const ImageInfo& info, const StoredRequest& request);
StoredPart decode_png(const EncodedImage& image, const ImageInfo& info,
                      const StoredRequest& request, const CodecTools& tools, RowSink& sink);

ImageInfo probe_webp(const EncodedImage& image);
Bytes webp_bytes(const ImageInfo& info, const StoredRequest& request);
StoredPart decode_webp(const EncodedImage& image, const ImageInfo& info,
                       const StoredRequest& request, const CodecTools& tools, RowSink& sink);

ImageInfo probe_bmp(const EncodedImage& image);
Bytes bmp_bytes(const ImageInfo& info, const StoredRequest& request);
StoredPart decode_bmp(const EncodedImage& image, const ImageInfo& info,
                      const StoredRequest& request, const CodecTools& tools, RowSink& sink);

ImageInfo probe_gif(const EncodedImage& image);
Bytes gif_bytes(const ImageInfo& info, const StoredRequest& request);
StoredPart decode_gif(const EncodedImage& image, const ImageInfo& info,
                      const StoredRequest& request, const CodecTools& tools, RowSink& sink);

// The DataError of an image whose decoder asked for more than its room has.
[[noreturn]] void fail_for_room(const EncodedImage& image, const ImageInfo& info, Bytes needed,
                                Bytes room);

}  // namespace plimsoll
