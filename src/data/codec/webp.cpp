// WebP by libwebp: lossy, lossless, with alpha (dropped). Still pictures only.
#include <webp/decode.h>

#include <cstring>

#include "data/codec/codec.h"
#include "data/codec/webp_memory.h"
#include "data/picture/orientation.h"

namespace plimsoll {
namespace {

std::string_view reason(VP8StatusCode status) {
  switch (status) {
    case VP8_STATUS_OUT_OF_MEMORY: return "out of memory";
    case VP8_STATUS_BITSTREAM_ERROR: return "damaged data";
    case VP8_STATUS_UNSUPPORTED_FEATURE: return "a feature that libwebp does not read";
    case VP8_STATUS_SUSPENDED:
    case VP8_STATUS_NOT_ENOUGH_DATA: return "the file ends too early";
    default: return "invalid parameters";
  }
}

const std::uint8_t* as_u8(std::span<const std::byte> bytes) {
  return reinterpret_cast<const std::uint8_t*>(bytes.data());
}

}  // namespace

ImageInfo probe_webp(const EncodedImage& image) {
  constexpr std::size_t kRiffHead = 12, kChunkHead = 8;
  // "EXIF" and "XMP ", as little-endian numbers.
  constexpr std::uint32_t kExif = 0x46495845, kXmp = 0x20504D58;
  const std::uint64_t riff = read_number(image, 4, 4, Endian::little);
  if (riff + 8 > image.bytes.size())
    fail_image(image, image.bytes.size(), "the file ends in the middle of the WebP data",
               "expected " + std::to_string(riff + 8) + " bytes in all");
  WebPBitstreamFeatures features;
  const VP8StatusCode status = WebPGetFeatures(as_u8(image.bytes), image.bytes.size(), &features);
  if (status != VP8_STATUS_OK)
    fail_image(image, std::nullopt,
               "a WebP that cannot be read (" + std::string(reason(status)) + ")");
  if (features.has_animation != 0)
    fail_image(image, std::nullopt, "an animated WebP", "expected a still picture");
  ImageInfo info{.format = ImageFormat::webp, .is_progressive = true};
  info.stored_width = features.width;
  info.stored_height = features.height;
  info.has_alpha = features.has_alpha != 0;
  const std::int64_t pixels = info.stored_width * info.stored_height;
  // Lossless: ARGB of the whole image and the code tables, which encoders keep to 2600 tiles.
  // Lossy: the alpha plane, itself coded lossless, if there is one.
  const bool is_lossless = features.format != 1;
  const std::int64_t tables = std::min<std::int64_t>(2600, pixels / 16 + 1) * 13'000;
  if (is_lossless)
    info.whole_image_bytes = {pixels * 4 + tables};
  else if (info.has_alpha)
    info.whole_image_bytes = {pixels * 3 + tables};

  std::optional<int> exif_says;
  std::optional<int> xmp_says;
  std::size_t at = kRiffHead;
  while (at + kChunkHead <= image.bytes.size()) {
    const std::uint32_t name = read_number(image, at, 4, Endian::little);
    const std::size_t length = read_number(image, at + 4, 4, Endian::little);
    at += kChunkHead;
    if (length > image.bytes.size() - at) break;
    if (name == kExif) {
      std::span<const std::byte> exif = image.bytes.subspan(at, length);
      // Some writers put JPEG's prefix before it.
      if (length > 6 && std::memcmp(exif.data(), "Exif\0\0", 6) == 0) exif = exif.subspan(6);
      exif_says = exif_orientation(exif);
    }
    if (name == kXmp) xmp_says = xmp_orientation(image.bytes.subspan(at, length));
    at += length + (length & 1);
  }
  info.orientation = exif_says.value_or(xmp_says.value_or(1));
  return info;
}

Bytes webp_bytes(const ImageInfo& info, const StoredRequest& request) {
  // All pixels of the part, then rows of it; the library's rows of samples, their neighbours,
  // filter strengths and, for lossless, 16 rows of ARGB.
  const Bytes pixels{(request.crop.width + 8) * (request.crop.height + 8) * 3};
  return 256_KiB + Bytes{info.stored_width * 160} + info.whole_image_bytes + pixels;
}

StoredPart decode_webp(const EncodedImage& image, const ImageInfo& info,
                       const StoredRequest& request, const CodecTools& tools, RowSink& sink) {
  // Colour is interpolated between neighbours, and libwebp crops at even positions.
  const std::int64_t left = std::max<std::int64_t>(request.crop.x - 2, 0) / 2 * 2;
  const std::int64_t top = std::max<std::int64_t>(request.crop.y - 2, 0) / 2 * 2;
  const std::int64_t right = std::min(request.crop.x + request.crop.width + 2, info.stored_width);
  const std::int64_t bottom =
      std::min(request.crop.y + request.crop.height + 2, info.stored_height);

  WebPDecoderConfig config;
  if (WebPInitDecoderConfig(&config) == 0)
    fail_image(image, std::nullopt, "a libwebp of another version than this program's");
  config.options.use_cropping = 1;
  config.options.crop_left = static_cast<int>(left);
  config.options.crop_top = static_cast<int>(top);
  config.options.crop_width = static_cast<int>(right - left);
  config.options.crop_height = static_cast<int>(bottom - top);
  config.output.colorspace = MODE_RGB;
  config.output.is_external_memory = 1;

  const StoredPart part{.size = {.height = bottom - top, .width = right - left},
                        .channels = request.channels,
                        .coverage = {left, top, 1}};
  const std::int64_t row_bytes = part.size.width * 3;
  const std::span<std::uint8_t> rgb =
      tools.room.take_array<std::uint8_t>(static_cast<std::size_t>(part.size.height * row_bytes));
  config.output.u.RGBA = {
      .rgba = rgb.data(), .stride = static_cast<int>(row_bytes), .size = rgb.size()};
  std::size_t refused = 0;
  VP8StatusCode status = VP8_STATUS_OK;
  {
    WebpMemory memory(tools.room);
    status = WebPDecode(as_u8(image.bytes), image.bytes.size(), &config);
    refused = memory.refused();
  }
  if (refused > 0)
    fail_for_room(image, info,
                  tools.room.size() - tools.room.left() + Bytes{static_cast<std::int64_t>(refused)},
                  tools.room.size());
  if (status != VP8_STATUS_OK)
    fail_image(image, std::nullopt,
               "a WebP that cannot be decoded (" + std::string(reason(status)) + ")");
  sink.begin(part, tools.room);
  for (std::int64_t y = 0; y < part.size.height; ++y) {
    const std::uint8_t* from = rgb.data() + y * row_bytes;
    std::uint8_t* to = sink.row(y);
    if (request.channels == 3)
      std::memcpy(to, from, static_cast<std::size_t>(row_bytes));
    else
      for (std::int64_t x = 0; x < part.size.width; ++x, from += 3)
        to[x] = luma(from[0], from[1], from[2]);
    sink.put(y);
  }
  return part;
}

}  // namespace plimsoll
