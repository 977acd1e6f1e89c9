#include "data/codec/decode.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <new>
#include <string>
#include <utility>

#include "base/error.h"
#include "data/codec/codec.h"
#include "data/codec/jpeg_library.h"
#include "data/picture/orientation.h"

namespace plimsoll {
namespace {

struct Codec {
  ImageInfo (*probe)(const EncodedImage&);
  Bytes (*bytes)(const ImageInfo&, const StoredRequest&);
  StoredPart (*decode)(const EncodedImage&, const ImageInfo&, const StoredRequest&,
                       const CodecTools&, RowSink&);
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

std::span<const std::byte> from(std::span<const std::byte> bytes, std::size_t offset) {
  return bytes.subspan(std::min(offset, bytes.size()));
}

// What somebody gave who gave none of the formats that are read.
std::string describe_unknown(std::span<const std::byte> bytes) {
  if (bytes.empty()) return "an empty file";
  if (begins(bytes, "II*") || begins(bytes, {"MM\0*", 4})) return "a TIFF";
  if (bytes.size() > 2 && begins(bytes, "P") && begins(from(bytes, 2), "\n") &&
      bytes[1] >= std::byte{'1'} && bytes[1] <= std::byte{'6'})
    return "a PPM, PGM or PBM";
  if (begins(from(bytes, 4), "ftyp"))
    return begins(from(bytes, 8), "avif") ? "an AVIF" : "a HEIC picture, or a film";
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::byte byte : bytes.first(std::min<std::size_t>(bytes.size(), 4))) {
    if (!text.empty()) text += ' ';
    text += kDigits[std::to_integer<std::size_t>(byte) >> 4];
    text += kDigits[std::to_integer<std::size_t>(byte) & 15];
  }
  return "no image that is known (it begins with " + text + ")";
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

// What a part of a stored image covers of the upright one.
Coverage upright(const StoredPart& part, const ImageInfo& info) {
  const std::int64_t scale = part.coverage.scale;
  const Rect covered = plimsoll::upright(
      Rect{part.coverage.x, part.coverage.y, part.size.width * scale, part.size.height * scale},
      info.orientation, {info.stored_height, info.stored_width});
  return {covered.x, covered.y, scale};
}

// Writes rows into a picture, turned upright.
class PictureSink final : public RowSink {
 public:
  PictureSink(Picture& picture, int orientation) : picture_(picture), orientation_(orientation) {}

  void begin(const StoredPart& part, Room& room) override {
    stored_ = part.size;
    const Size size = plimsoll::upright(part.size, orientation_);
    picture_.reshape(size.height, size.width, part.channels);
    if (orientation_ != 1)
      row_ =
          room.take_array<std::uint8_t>(static_cast<std::size_t>(part.size.width * part.channels));
  }
  std::uint8_t* row(std::int64_t y) noexcept override {
    return orientation_ == 1 ? picture_.row(y) : row_.data();
  }
  void put(std::int64_t y) noexcept override {
    if (orientation_ != 1) turn_row(row_.data(), y, stored_, orientation_, picture_);
  }

 private:
  Picture& picture_;
  int orientation_;
  Size stored_;
  std::span<std::uint8_t> row_;
};

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
  if (begins(bytes, "\xFF\xD8\xFF")) return ImageFormat::jpeg;
  if (begins(bytes, "\x89PNG\r\n\x1A\n")) return ImageFormat::png;
  if (begins(bytes, "RIFF") && begins(from(bytes, 8), "WEBP")) return ImageFormat::webp;
  if (begins(bytes, "BM")) return ImageFormat::bmp;
  if (begins(bytes, "GIF87a") || begins(bytes, "GIF89a")) return ImageFormat::gif;
  return std::nullopt;
}

ImageInfo probe_image(std::span<const std::byte> bytes, std::string_view where) {
  const std::optional<ImageFormat> format = sniff_format(bytes);
  if (!format)
    throw DataError({.where = std::string(where),
                     .got = describe_unknown(bytes),
                     .expected = "expected JPEG, PNG, WebP, BMP or GIF"});
  const EncodedImage image{bytes, where, *format};
  ImageInfo info = codec_of(*format).probe(image);
  check_sides(image, info);
  info.format = *format;
  const Size size =
      plimsoll::upright(Size{info.stored_height, info.stored_width}, info.orientation);
  info.width = size.width;
  info.height = size.height;
  return info;
}

Bytes decode_bytes(const ImageInfo& info, const DecodeRequest& request) {
  const StoredRequest stored = stored_request(info, request);
  return codec_of(info.format).bytes(info, stored) +
         Bytes{Room::rounded(info.stored_width * request.channels)};
}

std::string kind_text(const ImageInfo& info) {
  const bool is_interlaced = info.format == ImageFormat::png || info.format == ImageFormat::gif;
  const char* how = !info.is_progressive || info.format == ImageFormat::webp ? ""
                    : is_interlaced                                          ? "interlaced "
                                                                             : "progressive ";
  return fmt::format("{}{}, {:.{}f} MP", how, to_string(info.format),
                     static_cast<double>(info.pixels()) / 1e6, info.pixels() < 9'950'000 ? 1 : 0);
}

struct Decoder::State {
  Room own;
  Room* room = nullptr;  // null: own
  JpegLibrary jpeg;
  std::string_view oddity;
};

Decoder::Decoder() : state_(std::make_unique<State>()) {}
Decoder::Decoder(Room& room) : state_(std::make_unique<State>()) { state_->room = &room; }
Decoder::Decoder(Decoder&&) noexcept = default;
Decoder& Decoder::operator=(Decoder&&) noexcept = default;
Decoder::~Decoder() = default;

std::string_view Decoder::oddity() const { return state_->oddity; }

Coverage Decoder::decode(std::span<const std::byte> bytes, std::string_view where,
                         const DecodeRequest& request, Picture& picture) {
  return decode(bytes, where, probe_image(bytes, where), request, picture);
}

Coverage Decoder::decode(std::span<const std::byte> bytes, std::string_view where,
                         const ImageInfo& info, const DecodeRequest& request, Picture& picture) {
  PictureSink sink(picture, info.orientation);
  return upright(decode(bytes, where, info, request, sink), info);
}

StoredPart Decoder::decode(std::span<const std::byte> bytes, std::string_view where,
                           const ImageInfo& info, const DecodeRequest& request, RowSink& sink) {
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
  const Bytes need = decode_bytes(info, request);
  Room& room = state_->room != nullptr ? *state_->room : state_->own;
  if (state_->room == nullptr && room.size() < need) {
    room = Room();  // first the old one goes
    room = Room(need);
  }
  if (need > room.left()) fail_for_room(image, info, need, room.left());
  const std::size_t before = room.used();
  state_->oddity = {};
  try {
    const StoredPart part =
        codec_of(info.format)
            .decode(image, info, stored_request(info, request), {room, state_->jpeg}, sink);
    room.rewind(before);
    if (info.format == ImageFormat::jpeg) state_->oddity = state_->jpeg.oddity();
    return part;
  } catch (const std::bad_alloc&) {
    room.rewind(before);
    fail_for_room(image, info, room.left(), room.left());
  } catch (...) {
    room.rewind(before);
    throw;
  }
}

void fail_for_room(const EncodedImage& image, const ImageInfo& info, Bytes needed, Bytes room) {
  throw DataError({.where = std::string(image.where),
                   .got = kind_text(info) + ": " + to_string(needed) + " to decode, " +
                          to_string(room) + " left",
                   .expected = "expected a picture that fits its buffers",
                   .hint = "make it smaller once, or save it as an ordinary (baseline) JPEG"});
}

void fail_image(const EncodedImage& image, std::optional<std::size_t> byte, std::string got,
                std::string expected, std::string hint) {
  std::string where(image.where);
  if (byte) where += ": byte " + std::to_string(*byte);
  if (expected.empty()) expected = "expected a whole " + std::string(to_string(image.format));
  throw DataError({.where = std::move(where),
                   .got = std::move(got),
                   .expected = std::move(expected),
                   .hint = std::move(hint),
                   .byte = byte ? std::optional(static_cast<std::int64_t>(*byte)) : std::nullopt});
}

bool begins(std::span<const std::byte> bytes, std::string_view text) {
  return bytes.size() >= text.size() &&
         std::equal(text.begin(), text.end(), bytes.begin(),
                    [](char a, std::byte b) { return std::byte(a) == b; });
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
