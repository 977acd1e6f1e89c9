// BMP: 1, 4, 8, 16, 24 and 32 bits, with a palette or masks, from the top or the bottom.
#include <algorithm>
#include <array>
#include <bit>

#include "data/codec/codec.h"

namespace plimsoll {
namespace {

struct Mask {
  std::uint32_t bits = 0;
  // The field, brought to 0..255.
  std::uint8_t value(std::uint32_t pixel) const {
    if (bits == 0) return 0;
    const std::uint64_t field = (pixel & bits) >> std::countr_zero(bits);
    const std::uint64_t most = bits >> std::countr_zero(bits);
    return static_cast<std::uint8_t>((field * 255 + most / 2) / most);
  }
};

struct Header {
  std::size_t size = 0;  // of the information header
  std::int64_t width = 0;
  std::int64_t height = 0;
  bool from_top = false;
  std::uint32_t bits = 0;
  std::size_t pixels_at = 0;
  std::size_t palette_at = 0;
  std::size_t palette_entry = 4;
  std::size_t palette_entries = 0;
  std::array<Mask, 3> masks{};  // red, green, blue

  // Rows are padded to 4 bytes.
  std::int64_t row_bytes() const { return (width * bits + 31) / 32 * 4; }
};

constexpr std::size_t kFileHeader = 14;

std::string_view compression_name(std::uint32_t compression) {
  switch (compression) {
    case 1: return "RLE8";
    case 2: return "RLE4";
    case 4: return "JPEG";
    case 5: return "PNG";
    default: return "unknown";
  }
}

Header read_header(const EncodedImage& image) {
  const auto little = [&](std::size_t at, std::size_t size) {
    return read_number(image, at, size, Endian::little);
  };
  Header header;
  header.pixels_at = little(10, 4);
  header.size = little(kFileHeader, 4);
  const bool is_core = header.size == 12;
  if (!is_core && (header.size < 40 || header.size > 124))
    fail_image(image, kFileHeader, "a BMP header of " + std::to_string(header.size) + " bytes",
               "expected 12 or 40 to 124");
  std::uint32_t compression = 0;
  std::uint32_t used = 0;
  if (is_core) {
    header.width = little(18, 2);
    header.height = little(20, 2);
    header.bits = little(24, 2);
    header.palette_entry = 3;
  } else {
    header.width = static_cast<std::int32_t>(little(18, 4));
    header.height = static_cast<std::int32_t>(little(22, 4));
    header.bits = little(28, 2);
    compression = little(30, 4);
    used = little(46, 4);
    header.from_top = header.height < 0;
    if (header.from_top) header.height = -header.height;
  }
  constexpr std::array<std::uint32_t, 6> kBits = {1, 4, 8, 16, 24, 32};
  if (std::ranges::find(kBits, header.bits) == kBits.end())
    fail_image(image, 28, "a BMP of " + std::to_string(header.bits) + " bits per pixel",
               "expected 1, 4, 8, 16, 24 or 32");
  const bool has_masks = compression == 3 || compression == 6;
  if ((compression != 0 && !has_masks) || (has_masks && header.bits != 16 && header.bits != 32))
    fail_image(image, 30,
               "a BMP with compression " + std::to_string(compression) + " (" +
                   std::string(compression_name(compression)) + ")",
               "expected an uncompressed one", "save it again without compression");
  std::size_t after = kFileHeader + header.size;
  if (has_masks) {
    // Of the newer headers the masks are a part; the oldest has them behind it.
    for (std::size_t i = 0; i < 3; ++i) header.masks[i] = {little(54 + 4 * i, 4)};
    if (header.size == 40) after += compression == 6 ? 16 : 12;
  } else if (header.bits == 16) {
    header.masks = {Mask{0x7C00}, Mask{0x03E0}, Mask{0x001F}};
  } else {
    header.masks = {Mask{0xFF0000}, Mask{0x00FF00}, Mask{0x0000FF}};
  }
  if (header.bits <= 8) {
    const std::uint32_t most = 1U << header.bits;
    if (used > most)
      fail_image(image, 46, "a palette of " + std::to_string(used) + " colours",
                 "expected at most " + std::to_string(most));
    header.palette_at = after;
    header.palette_entries = used == 0 ? most : used;
    // Where no number is declared, the palette is what stands before the pixels.
    if (used == 0 && header.pixels_at > after)
      header.palette_entries =
          std::min(header.palette_entries, (header.pixels_at - after) / header.palette_entry);
    after += header.palette_entries * header.palette_entry;
  }
  if (header.pixels_at < after)
    fail_image(image, 10, "pixels that begin at byte " + std::to_string(header.pixels_at),
               "expected byte " + std::to_string(after) +
                   " or later: before it stand the headers and the palette",
               "save it again");
  return header;
}

}  // namespace

ImageInfo probe_bmp(const EncodedImage& image) {
  const Header header = read_header(image);
  ImageInfo info{.format = ImageFormat::bmp};
  info.stored_width = header.width;
  info.stored_height = header.height;
  info.bit_depth = static_cast<int>(header.bits <= 8 ? header.bits : 8);
  info.has_alpha = header.bits == 32;
  return info;
}

Bytes bmp_bytes(const ImageInfo& /*info*/, const StoredRequest& /*request*/) { return {0}; }

StoredPart decode_bmp(const EncodedImage& image, const ImageInfo& /*info*/,
                      const StoredRequest& request, const CodecTools& tools, RowSink& sink) {
  const Header header = read_header(image);
  const std::int64_t row_bytes = header.row_bytes();
  const auto available = static_cast<std::int64_t>(image.bytes.size());
  // The last row may lack its padding.
  const std::int64_t last_row = (header.width * header.bits + 7) / 8;
  const auto begin = static_cast<std::int64_t>(header.pixels_at);
  if (begin > available || available - begin - last_row < row_bytes * (header.height - 1))
    fail_image(image, image.bytes.size(), "the file ends in the middle of the BMP data",
               "expected " + std::to_string(begin + row_bytes * (header.height - 1) + last_row) +
                   " bytes");
  std::array<std::array<std::uint8_t, 3>, 256> palette{};
  for (std::size_t i = 0; i < header.palette_entries; ++i)
    for (std::size_t c = 0; c < 3; ++c)
      palette[i][2 - c] = static_cast<std::uint8_t>(
          read_number(image, header.palette_at + i * header.palette_entry + c, 1, Endian::little));

  const Rect& crop = request.crop;
  const StoredPart part{.size = {.height = crop.height, .width = crop.width},
                        .channels = request.channels,
                        .coverage = {crop.x, crop.y, 1}};
  sink.begin(part, tools.room);
  for (std::int64_t y = 0; y < crop.height; ++y) {
    const std::int64_t line = header.from_top ? crop.y + y : header.height - 1 - crop.y - y;
    const std::byte* row = image.bytes.data() + begin + line * row_bytes;
    const auto byte = [&](std::int64_t at) { return std::to_integer<std::uint32_t>(row[at]); };
    std::uint8_t* out = sink.row(y);
    for (std::int64_t x = crop.x; x < crop.x + crop.width; ++x, out += request.channels) {
      if (header.bits <= 8) {
        const std::int64_t bit = x * header.bits;
        const std::uint32_t shift = 8 - header.bits - static_cast<std::uint32_t>(bit % 8);
        const auto& colour = palette[byte(bit / 8) >> shift & ((1U << header.bits) - 1)];
        put_pixel(out, request.channels, colour[0], colour[1], colour[2]);
        continue;
      }
      if (header.bits == 24) {
        put_pixel(out, request.channels, static_cast<std::uint8_t>(byte(3 * x + 2)),
                  static_cast<std::uint8_t>(byte(3 * x + 1)),
                  static_cast<std::uint8_t>(byte(3 * x)));
        continue;
      }
      std::uint32_t pixel = 0;
      const std::int64_t size = header.bits / 8;
      for (std::int64_t i = size - 1; i >= 0; --i) pixel = pixel << 8 | byte(size * x + i);
      put_pixel(out, request.channels, header.masks[0].value(pixel), header.masks[1].value(pixel),
                header.masks[2].value(pixel));
    }
    sink.put(y);
  }
  return part;
}

}  // namespace plimsoll
