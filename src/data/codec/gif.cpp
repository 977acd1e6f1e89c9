// The first frame of a GIF, on its canvas.
#include <algorithm>
#include <array>
#include <cstring>

#include "data/codec/codec.h"
#include "data/codec/gif_codes.h"

namespace plimsoll {
namespace {

constexpr std::size_t kHeader = 13;
constexpr unsigned kExtension = 0x21, kImage = 0x2C, kTrailer = 0x3B, kGraphicControl = 0xF9;

struct Palette {
  std::size_t at = 0;  // of its first colour in the file
  std::size_t colours = 0;
};

// Where the first frame is, and how it is to be shown.
struct GifFrame {
  Rect place;  // on the canvas; perhaps beyond it
  bool is_interlaced = false;
  Palette palette;
  std::size_t codes_at = 0;
  // The colour of what the frame leaves free: the transparent one, or the first, as in Pillow.
  std::size_t free_colour = 0;
};

class Walk {
 public:
  explicit Walk(const EncodedImage& image) : image_(image) {}

  unsigned number(std::size_t size) {
    if (size > image_.bytes.size() - at_)
      fail_image(image_, image_.bytes.size(), "the file ends in the middle of the GIF data");
    const unsigned value = read_number(image_, at_, size, Endian::little);
    at_ += size;
    return value;
  }
  void skip(std::size_t bytes) {
    if (bytes > image_.bytes.size() - at_)
      fail_image(image_, image_.bytes.size(), "the file ends in the middle of the GIF data");
    at_ += bytes;
  }
  Palette palette(unsigned flags) {
    if ((flags & 0x80) == 0) return {};
    const Palette found{.at = at_, .colours = std::size_t{2} << (flags & 7)};
    skip(found.colours * 3);
    return found;
  }
  std::size_t at() const { return at_; }

 private:
  const EncodedImage& image_;
  std::size_t at_ = kHeader;
};

GifFrame find_frame(const EncodedImage& image) {
  Walk walk(image);
  GifFrame frame;
  frame.palette = walk.palette(read_number(image, 10, 1, Endian::little));
  for (;;) {
    const std::size_t at = walk.at();
    const unsigned block = walk.number(1);
    if (block == kTrailer) fail_image(image, at, "a GIF without an image");
    if (block == kImage) break;
    if (block != kExtension)
      fail_image(image, at, "a GIF that cannot be decoded (no known block begins here)");
    const unsigned label = walk.number(1);
    for (bool is_first = true;; is_first = false) {
      const std::size_t size = walk.number(1);
      if (size == 0) break;
      const std::size_t content = walk.at();
      walk.skip(size);
      if (is_first && label == kGraphicControl && size == 4 &&
          (read_number(image, content, 1, Endian::little) & 1) != 0)
        frame.free_colour = read_number(image, content + 3, 1, Endian::little);
    }
  }
  const std::size_t at = walk.at();
  frame.place.x = walk.number(2);
  frame.place.y = walk.number(2);
  frame.place.width = walk.number(2);
  frame.place.height = walk.number(2);
  const unsigned flags = walk.number(1);
  if (frame.place.width == 0 || frame.place.height == 0)
    fail_image(image, at, "a GIF frame without pixels");
  if (frame.place.width * frame.place.height > kMaxPixels)
    fail_image(image, at,
               "a GIF frame of " + std::to_string(frame.place.width) + "x" +
                   std::to_string(frame.place.height) + " pixels",
               "expected at most " + std::to_string(kMaxPixels) + " in all");
  frame.is_interlaced = (flags & 0x40) != 0;
  if (const Palette own = walk.palette(flags); own.colours > 0) frame.palette = own;
  frame.codes_at = walk.at();
  return frame;
}

// Puts the rows of an interlaced frame, stored in four passes, where they belong.
std::int64_t line_of(std::int64_t stored, std::int64_t height) {
  constexpr std::array<std::int64_t, 4> kFirst = {0, 4, 2, 1};
  constexpr std::array<std::int64_t, 4> kStep = {8, 8, 4, 2};
  for (std::size_t pass = 0; pass < 4; ++pass) {
    const std::int64_t lines = (height - kFirst[pass] + kStep[pass] - 1) / kStep[pass];
    if (stored < std::max<std::int64_t>(lines, 0)) return kFirst[pass] + stored * kStep[pass];
    stored -= std::max<std::int64_t>(lines, 0);
  }
  return 0;
}

// The colours of a palette as they are written; those it has not are black.
using Colours = std::array<std::array<std::uint8_t, 3>, 256>;

Colours read_colours(const EncodedImage& image, const Palette& palette, int channels) {
  Colours colours{};
  for (std::size_t i = 0; i < palette.colours; ++i) {
    std::array<std::uint8_t, 3> rgb{};
    std::memcpy(rgb.data(), image.bytes.data() + palette.at + 3 * i, 3);
    put_pixel(colours[i].data(), channels, rgb[0], rgb[1], rgb[2]);
  }
  return colours;
}

}  // namespace

ImageInfo probe_gif(const EncodedImage& image) {
  ImageInfo info{.format = ImageFormat::gif};
  info.stored_width = read_number(image, 6, 2, Endian::little);
  info.stored_height = read_number(image, 8, 2, Endian::little);
  info.bit_depth = static_cast<int>((read_number(image, 10, 1, Endian::little) & 7) + 1);
  const GifFrame frame = find_frame(image);
  info.row_bytes = {frame.place.width};
  info.is_progressive = frame.is_interlaced;
  if (frame.is_interlaced) info.whole_image_bytes = {frame.place.width * frame.place.height};
  return info;
}

Bytes gif_bytes(const ImageInfo& info, const StoredRequest& /*request*/) {
  return GifCodes::bytes() + Bytes{1024} + info.row_bytes + info.whole_image_bytes;
}

StoredPart decode_gif(const EncodedImage& image, const ImageInfo& info,
                      const StoredRequest& request, const CodecTools& tools, RowSink& sink) {
  const GifFrame frame = find_frame(image);
  const Rect& place = frame.place;
  const Rect& crop = request.crop;
  const Colours colours = read_colours(image, frame.palette, request.channels);
  GifCodes codes(image, frame.codes_at, tools.room);
  const auto width = static_cast<std::size_t>(place.width);
  const std::span<std::uint8_t> row = tools.room.take_array<std::uint8_t>(width);
  std::span<std::uint8_t> whole;
  if (frame.is_interlaced && info.is_progressive) {
    whole = tools.room.take_array<std::uint8_t>(width * static_cast<std::size_t>(place.height));
    for (std::int64_t line = 0; line < place.height; ++line)
      codes.read(
          whole.subspan(static_cast<std::size_t>(line_of(line, place.height)) * width, width));
  }
  const StoredPart part{.size = {.height = crop.height, .width = crop.width},
                        .channels = request.channels,
                        .coverage = {crop.x, crop.y, 1}};
  sink.begin(part, tools.room);
  const auto put = [&](std::uint8_t* to, std::size_t colour) {
    for (int c = 0; c < request.channels; ++c) to[c] = colours[colour][static_cast<std::size_t>(c)];
  };
  std::int64_t line = 0;  // of the frame, that is read next
  for (std::int64_t y = crop.y; y < crop.y + crop.height; ++y) {
    std::uint8_t* out = sink.row(y - crop.y);
    const std::int64_t wanted = y - place.y;
    const std::uint8_t* indices = nullptr;
    if (wanted >= 0 && wanted < place.height) {
      if (!whole.empty()) {
        indices = whole.data() + wanted * place.width;
      } else {
        for (; line <= wanted; ++line) codes.read(row);
        indices = row.data();
      }
    }
    for (std::int64_t x = crop.x; x < crop.x + crop.width; ++x, out += request.channels) {
      const bool is_shown = indices != nullptr && x >= place.x && x < place.x + place.width;
      put(out, is_shown ? indices[x - place.x] : frame.free_colour);
    }
    sink.put(y - crop.y);
  }
  // What is not shown may be damaged, too.
  if (whole.empty())
    for (; line < place.height; ++line) codes.read(row);
  codes.finish();
  return part;
}

}  // namespace plimsoll
