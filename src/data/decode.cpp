#include "data/decode.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/error.h"
#include "data/codec.h"
#include "data/orientation.h"

namespace plimsoll {
namespace {

struct Codec {
  ImageInfo (*probe)(const EncodedImage&);
  Bytes (*bytes)(const ImageInfo&, const StoredRequest&);
  Coverage (*decode)(const EncodedImage&, const ImageInfo&, const StoredRequest&, CodecScratch&,
                     Picture&);
};

Codec codec_of(ImageFormat format) {
  switch (format) {
    case ImageFormat::jpeg: return {probe_jpeg, jpeg_bytes, decode_jpeg};
    case ImageFormat::png: return {probe_png, png_bytes, decode_png};
    case ImageFormat::webp: return {probe_webp, webp_bytes, decode_webp};
    case ImageFormat::bmp: return {probe_bmp, bmp_bytes, decode_bmp};
    case ImageFormat::gif: return {probe_gif, gif_bytes, decode_gif};
  }
  bug("an image format without a codec");
}

bool begins(std::span<const std::byte> bytes, std::size_t offset, std::string_view text) {
  return bytes.size() >= offset + text.size() &&
         std::equal(text.begin(), text.end(), bytes.begin() + static_cast<std::ptrdiff_t>(offset),
                    [](char a, std::byte b) { return static_cast<std::byte>(a) == b; });
}

// The first bytes as text that can be printed, for those who gave something else.
std::string first_bytes(std::span<const std::byte> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : bytes.first(std::min<std::size_t>(bytes.size(), 4))) {
    if (!text.empty()) text += ' ';
    text += kDigits[std::to_integer<std::size_t>(byte) >> 4];
    text += kDigits[std::to_integer<std::size_t>(byte) & 15];
  }
  return text;
}

std::string size_text(std::int64_t width, std::int64_t height) {
  return std::to_string(width) + "x" + std::to_string(height);
}

bool lies_within(const Rect& rect, Size size) {
  return rect.width > 0 && rect.height > 0 && rect.x >= 0 && rect.y >= 0 &&
         rect.width <= size.width && rect.height <= size.height &&
         rect.x <= size.width - rect.width && rect.y <= size.height - rect.height;
}

// The largest reduction that leaves the crop no smaller than asked.
std::int64_t scale_for(const ImageInfo& info, const Rect& crop, const std::optional<Size>& wanted) {
  if (!wanted || info.format != ImageFormat::jpeg) return 1;
  for (const std::int64_t scale : {8, 4, 2})
    if (crop.width >= scale * wanted->width && crop.height >= scale * wanted->height) return scale;
  return 1;
}

StoredRequest stored_request(const ImageInfo& info, const DecodeRequest& request) {
  const Rect crop = request.crop.value_or(Rect{0, 0, info.width, info.height});
  return {.channels = request.channels,
          .crop = stored(crop, info.orientation, {info.stored_height, info.stored_width}),
          .scale = scale_for(info, crop, request.at_least),
          .thorough = request.thorough};
}

// What the library allocates beside the picture. Most images need less than this least: with one
// figure for them, buffers can be kept from image to image.
Bytes library_bytes(const ImageInfo& info, const StoredRequest& request) {
  constexpr Bytes kLeast = 1_MiB;
  return std::max(codec_of(info.format).bytes(info, request), kLeast);
}

// A decoder may keep rows and columns around a crop; no more than this on each side.
constexpr std::int64_t kMargin = 64;

Bytes picture_bytes(const ImageInfo& info, const StoredRequest& request) {
  const auto side = [&](std::int64_t part, std::int64_t whole) {
    return std::min((part + request.scale - 1) / request.scale + 2 * kMargin,
                    (whole + request.scale - 1) / request.scale);
  };
  return {side(request.crop.width, info.stored_width) *
          side(request.crop.height, info.stored_height) * request.channels};
}

}  // namespace

std::string_view to_string(ImageFormat format) {
  switch (format) {
    case ImageFormat::jpeg: return "JPEG";
    case ImageFormat::png: return "PNG";
    case ImageFormat::webp: return "WebP";
    case ImageFormat::bmp: return "BMP";
    case ImageFormat::gif: return "GIF";
  }
  return "?";
}

std::optional<ImageFormat> sniff_format(std::span<const std::byte> bytes) {
  if (begins(bytes, 0, "\xFF\xD8\xFF")) return ImageFormat::jpeg;
  if (begins(bytes, 0, "\x89PNG\r\n\x1A\n")) return ImageFormat::png;
  if (begins(bytes, 0, "RIFF") && begins(bytes, 8, "WEBP")) return ImageFormat::webp;
  if (begins(bytes, 0, "BM")) return ImageFormat::bmp;
  if (begins(bytes, 0, "GIF87a") || begins(bytes, 0, "GIF89a")) return ImageFormat::gif;
  return std::nullopt;
}

ImageInfo probe_image(std::span<const std::byte> bytes, std::string_view where) {
  const std::optional<ImageFormat> format = sniff_format(bytes);
  if (!format)
    throw DataError({.where = std::string(where),
                     .got = bytes.empty() ? "an empty file"
                                          : "no image that is known (it begins with " +
                                                first_bytes(bytes) + ")",
                     .expected = "expected JPEG, PNG, WebP, BMP or GIF"});
  const EncodedImage image{bytes, where, *format};
  ImageInfo info = codec_of(*format).probe(image);
  check_sides(image, info);
  info.format = *format;
  const Size size = upright({info.stored_height, info.stored_width}, info.orientation);
  info.width = size.width;
  info.height = size.height;
  return info;
}

Bytes decode_bytes(const ImageInfo& info, const DecodeRequest& request) {
  const StoredRequest stored = stored_request(info, request);
  const Bytes picture = picture_bytes(info, stored);
  return library_bytes(info, stored) + picture * (info.orientation == 1 ? 1 : 2);
}

struct Decoder::State {
  CodecScratch scratch;
  Picture turned;  // as stored, where the image has to be turned
  Bytes most;      // that an image so far was said to take

  // Gives back what larger images left behind where the library needs that memory now.
  void make_room(const ImageInfo& info, const StoredRequest& request, Picture& picture) {
    most = std::max(most, decode_bytes(info, {.channels = request.channels}));
    const Bytes wanted = picture_bytes(info, request);
    const auto held = [](const std::vector<std::uint8_t>& buffer) {
      return Bytes{static_cast<std::int64_t>(buffer.capacity())};
    };
    const Bytes beside = info.orientation == 1 ? Bytes{0} : wanted;
    const Bytes total = codec_of(info.format).bytes(info, request) + held(scratch.row) +
                        held(scratch.image) + std::max(held(picture.pixels), wanted) +
                        std::max(held(turned.pixels), beside);
    if (total <= most) return;
    scratch = {};
    turned = {};
    picture = {};
  }
};

Decoder::Decoder() : state_(std::make_unique<State>()) {}
Decoder::Decoder(Decoder&&) noexcept = default;
Decoder& Decoder::operator=(Decoder&&) noexcept = default;
Decoder::~Decoder() = default;

Coverage Decoder::decode(std::span<const std::byte> bytes, std::string_view where,
                         const DecodeRequest& request, Picture& picture) {
  return decode(bytes, where, probe_image(bytes, where), request, picture);
}

Coverage Decoder::decode(std::span<const std::byte> bytes, std::string_view where,
                         const ImageInfo& info, const DecodeRequest& request, Picture& picture) {
  if (request.channels != 1 && request.channels != 3)
    throw UsageError({.where = std::string(where),
                      .got = std::to_string(request.channels) + " channels asked for",
                      .expected = "expected 1 or 3"});
  if (info.pixels() > request.max_pixels)
    throw DataError(
        {.where = std::string(where),
         .got = "an image of " + size_text(info.width, info.height) + " pixels",
         .expected = "expected at most " + std::to_string(request.max_pixels) + " in all",
         .hint = "make it smaller once, before training, or raise the limit"});
  if (request.crop && !lies_within(*request.crop, info.size()))
    throw UsageError({.where = std::string(where),
                      .got = "a crop of " + size_text(request.crop->width, request.crop->height) +
                             " at " + std::to_string(request.crop->x) + ", " +
                             std::to_string(request.crop->y),
                      .expected = "expected one inside " + size_text(info.width, info.height)});
  if (request.at_least && (request.at_least->width <= 0 || request.at_least->height <= 0))
    throw UsageError({.where = std::string(where),
                      .got = "a smallest size of nothing",
                      .expected = "expected at least 1x1"});

  const EncodedImage image{bytes, where, info.format};
  const StoredRequest stored = stored_request(info, request);
  const Codec codec = codec_of(info.format);
  state_->make_room(info, stored, picture);
  if (info.orientation == 1) return codec.decode(image, info, stored, state_->scratch, picture);

  Picture& turned = state_->turned;
  const Coverage from = codec.decode(image, info, stored, state_->scratch, turned);
  turn_upright(turned, info.orientation, picture);
  const Rect covered =
      upright(Rect{from.x, from.y, turned.width * from.scale, turned.height * from.scale},
              info.orientation, {info.stored_height, info.stored_width});
  return {covered.x, covered.y, from.scale};
}

void fail_image(const EncodedImage& image, std::optional<std::size_t> byte, std::string got,
                std::string expected, std::string hint) {
  std::string where(image.where);
  if (byte) where += ": byte " + std::to_string(*byte);
  if (expected.empty()) expected = "expected a whole " + std::string(to_string(image.format));
  throw DataError({.where = std::move(where),
                   .got = std::move(got),
                   .expected = std::move(expected),
                   .hint = std::move(hint)});
}

void check_sides(const EncodedImage& image, const ImageInfo& info) {
  constexpr std::int64_t kMost = 1 << 24;
  const auto is_possible = [](std::int64_t side) { return side > 0 && side <= kMost; };
  if (is_possible(info.stored_width) && is_possible(info.stored_height)) return;
  fail_image(image, std::nullopt,
             "a size of " + size_text(info.stored_width, info.stored_height) + " pixels",
             "expected sides of 1 to " + std::to_string(kMost));
}

std::uint32_t read_number(const EncodedImage& image, std::size_t offset, std::size_t size,
                          Endian endian) {
  if (offset > image.bytes.size() || size > image.bytes.size() - offset)
    fail_image(image, image.bytes.size(), "the file ends within its headers");
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t at = endian == Endian::little ? offset + size - 1 - i : offset + i;
    value = value << 8 | std::to_integer<std::uint32_t>(image.bytes[at]);
  }
  return value;
}

}  // namespace plimsoll
