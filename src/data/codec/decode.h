// Image files to pixels: JPEG, PNG, WebP, BMP and the first frame of GIF, told apart by content.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "data/picture/picture.h"
#include "data/picture/room.h"
#include "data/picture/row_sink.h"

namespace plimsoll {

enum class ImageFormat { jpeg, png, webp, bmp, gif };

// "JPEG", "PNG", ... for messages.
std::string_view to_string(ImageFormat format);

// By the first bytes alone; nothing if they begin none of these formats.
std::optional<ImageFormat> sniff_format(std::span<const std::byte> bytes);

// What the headers of a file say. Width and height are those of the upright image; the file stores
// its rows as EXIF orientation tells (PNG and WebP can carry one too).
struct ImageInfo {
  ImageFormat format = ImageFormat::jpeg;
  std::int64_t width = 0;
  std::int64_t height = 0;
  std::int64_t stored_width = 0;
  std::int64_t stored_height = 0;
  int channels = 3;     // as stored, alpha not counted; 1 grey, 3 colour, 4 CMYK
  int bit_depth = 8;    // per channel, or per pixel of a palette
  int orientation = 1;  // EXIF: 1..8
  bool has_alpha = false;
  // Its rows cannot be made one after the other: progressive JPEG, interlaced PNG, any WebP.
  bool is_progressive = false;
  // What its decoder holds of the whole image (0 where it goes row by row), and beside it for the
  // rows at hand.
  Bytes whole_image_bytes;
  Bytes row_bytes;

  Size size() const { return {height, width}; }
  std::int64_t pixels() const { return width * height; }
};

// Reads the headers; allocates nothing. `where` names the file or record in messages. DataError if
// the bytes are no such image, of a kind that is not read (named), or end within the headers.
ImageInfo probe_image(std::span<const std::byte> bytes, std::string_view where);

inline constexpr std::int64_t kMaxPixels = 100'000'000;

struct DecodeRequest {
  int channels = 3;  // 1 or 3; grey is luma as JPEG and Pillow have it
  // Larger images are refused by their header, before anything is allocated.
  std::int64_t max_pixels = kMaxPixels;
  // The part that is wanted, in upright coordinates and within the image; nothing: all of it. The
  // picture then covers it, and perhaps a little more: Coverage says what.
  std::optional<Rect> crop = {};
  // If given, JPEG may be decoded at 1/2, 1/4 or 1/8 as long as the crop has this size at least.
  // Such pixels are means of squares, so a resize of them is not quite that of the full image.
  std::optional<Size> at_least = {};
  // Notices every invalid code of a JPEG. Without it libjpeg-turbo decodes by a path that is faster
  // and takes some invalid codes for zeros. For checking data, not for training on it.
  bool thorough = false;
};

// What decoding such an image takes from the decoder's room at most, a row of the result included;
// the encoded bytes, and what a sink takes beyond that row, are not. No crop needs more than none.
Bytes decode_bytes(const ImageInfo& info, const DecodeRequest& request);

// "progressive JPEG, 24 MP": what decides how much that is, for messages.
std::string kind_text(const ImageInfo& info);

// Decodes one image after the other. All memory for an image, the libraries' too, is the room's: a
// decoder allocates nothing once it is made. Not thread-safe: one per worker.
class Decoder {
 public:
  // With a room of its own, which grows to what an image needs.
  Decoder();
  // With a given one, which must outlive it; it takes what is left in it, and gives it back.
  explicit Decoder(Room& room);
  Decoder(Decoder&&) noexcept;
  Decoder& operator=(Decoder&&) noexcept;
  ~Decoder();

  // Hands the image's rows, or those of its crop, to `sink` as they are stored, the orientation not
  // applied. Alpha is dropped as Pillow's convert("RGB") does, 16-bit samples keep their high byte,
  // CMYK becomes RGB. Pixels are those of a full decode wherever at_least is not given. DataError,
  // with the byte where it is known, on any damage, data that ends early (within what the crop
  // needs) included, and if the image needs more than the room has. `info` must be what probe_image
  // made of the same bytes. UsageError if the request is impossible (a crop outside the image).
  StoredPart decode(std::span<const std::byte> bytes, std::string_view where, const ImageInfo& info,
                    const DecodeRequest& request, RowSink& sink);
  // Puts the upright image, or its crop, into `picture`, whose contents are unspecified on failure.
  Coverage decode(std::span<const std::byte> bytes, std::string_view where, const ImageInfo& info,
                  const DecodeRequest& request, Picture& picture);
  Coverage decode(std::span<const std::byte> bytes, std::string_view where,
                  const DecodeRequest& request, Picture& picture);

  // What the last image has that is not as it should be and changes no pixel, of a fixed list of
  // words; empty where there is nothing.
  std::string_view oddity() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace plimsoll
