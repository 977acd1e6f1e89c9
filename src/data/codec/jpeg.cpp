// JPEG: headers by a walk over the markers, pixels by libjpeg-turbo.
#include <algorithm>
#include <csetjmp>
#include <cstring>

#include "data/codec/codec.h"
#include "data/codec/jpeg_library.h"
#include "data/picture/orientation.h"

namespace plimsoll {
namespace {

// Markers, by the names of the standard.
constexpr unsigned kSoi = 0xD8, kEoi = 0xD9, kSos = 0xDA, kApp1 = 0xE1, kTem = 0x01;
constexpr std::string_view kExif("Exif\0\0", 6);
constexpr std::string_view kXmp("http://ns.adobe.com/xap/1.0/\0", 29);

bool is_frame(unsigned marker) {
  return marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
}

bool stands_alone(unsigned marker) { return marker == kTem || (marker >= 0xD0 && marker <= kSoi); }

struct JpegFrame {
  unsigned marker = 0;
  std::int64_t blocks = 0;      // of 8x8 samples, in all components
  std::int64_t block_rows = 0;  // of all components
  std::int64_t row_blocks = 0;  // in one row of MCUs
  unsigned most_rows = 1;       // the greatest vertical sampling factor
};

JpegFrame read_frame(const EncodedImage& image, std::size_t at, unsigned marker, ImageInfo& info) {
  const auto byte = [&](std::size_t offset) { return read_number(image, offset, 1, Endian::big); };
  constexpr std::string_view kHint = "save it again as an ordinary (baseline or progressive) JPEG";
  const unsigned kind = marker & 3;
  if (kind == 3)
    fail_image(image, at, "a lossless JPEG", "expected one of 8-bit DCT coding",
               std::string(kHint));
  if (marker >= 0xC5 && marker != 0xC9 && marker != 0xCA)
    fail_image(image, at, "a hierarchical JPEG", "expected a sequential or progressive one",
               std::string(kHint));
  info.bit_depth = static_cast<int>(byte(at + 2));
  if (info.bit_depth != 8)
    fail_image(image, at + 2, "a JPEG of " + std::to_string(info.bit_depth) + " bits per sample",
               "expected 8", std::string(kHint));
  info.stored_height = read_number(image, at + 3, 2, Endian::big);
  info.stored_width = read_number(image, at + 5, 2, Endian::big);
  info.channels = static_cast<int>(byte(at + 7));
  if (info.channels != 1 && info.channels != 3 && info.channels != 4)
    fail_image(image, at + 7, "a JPEG of " + std::to_string(info.channels) + " components",
               "expected 1, 3 or 4");
  unsigned max_x = 1;
  unsigned max_y = 1;
  const auto count = static_cast<std::size_t>(info.channels);
  for (std::size_t c = 0; c < count; ++c) {
    const unsigned sampling = byte(at + 9 + 3 * c);
    if ((sampling >> 4) < 1 || (sampling >> 4) > 4 || (sampling & 15) < 1 || (sampling & 15) > 4)
      fail_image(image, at + 9 + 3 * c, "an impossible sampling factor", "expected 1 to 4");
    max_x = std::max(max_x, sampling >> 4);
    max_y = std::max(max_y, sampling & 15);
  }
  JpegFrame frame{.marker = marker, .most_rows = max_y};
  for (std::size_t c = 0; c < count; ++c) {
    const unsigned sampling = byte(at + 9 + 3 * c);
    const auto blocks = [](std::int64_t size, unsigned factor, unsigned most) {
      const std::int64_t whole = (size + 8 * most - 1) / (8 * most);
      return whole * factor;
    };
    const std::int64_t across = blocks(info.stored_width, sampling >> 4, max_x);
    const std::int64_t down = blocks(info.stored_height, sampling & 15, max_y);
    frame.blocks += across * down;
    frame.block_rows += down;
    frame.row_blocks += across * (sampling & 15);
  }
  return frame;
}

// What libjpeg holds of an image whatever its height: ten rows of samples for every eight of a row
// of MCUs (it looks at neighbours above and below), and a group of rows at full width for every
// component, all in whole cache lines, with a pointer to each.
std::int64_t row_bytes(const JpegFrame& frame, const ImageInfo& info) {
  constexpr std::int64_t kBlock = 64, kLine = 64;
  const std::int64_t rows = std::int64_t{info.channels} * 4 * 10 * (kLine + 24);
  const std::int64_t group = info.channels * (info.stored_width + kLine) * frame.most_rows;
  return frame.row_blocks * kBlock * 10 / 8 + group + rows;
}

// Reads the header, sets what is wanted and starts. False: see the library's message.
bool start(JpegLibrary& library, const StoredRequest& request, JDIMENSION* left,
           JDIMENSION* width) {
  jpeg_decompress_struct& state = library.state();
  if (setjmp(library.back()) != 0) return false;
  jpeg_read_header(&state, TRUE);
  state.scale_num = 1;
  state.scale_denom = static_cast<unsigned>(request.scale);
  state.dct_method = JDCT_ISLOW;
  if (state.num_components == 4)
    state.out_color_space = JCS_CMYK;
  else
    state.out_color_space = request.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_start_decompress(&state);
  if (*width < state.output_width) jpeg_crop_scanline(&state, left, width);
  return true;
}

// Adobe stores ink inverted: 255 is none. Files without its mark are taken for the same, as Pillow
// does; nobody else writes CMYK.
void put_cmyk(const std::uint8_t* cmyk, std::int64_t pixels, std::uint8_t* to, int channels) {
  for (std::int64_t x = 0; x < pixels; ++x, cmyk += 4, to += channels) {
    const auto light = [&](int c) {
      const unsigned product = static_cast<unsigned>(cmyk[c] * cmyk[3] + 128);
      return static_cast<std::uint8_t>((product + (product >> 8)) >> 8);
    };
    put_pixel(to, channels, light(0), light(1), light(2));
  }
}

// Reads the part's rows, of which the first is row `top` of the image. `cmyk` is a buffer for one
// row of four samples per pixel, if that is what the image has.
bool read_rows(JpegLibrary& library, JDIMENSION top, const StoredPart& part, std::uint8_t* cmyk,
               RowSink& sink) {
  jpeg_decompress_struct& state = library.state();
  if (setjmp(library.back()) != 0) return false;
  if (top > 0) jpeg_skip_scanlines(&state, top);
  for (std::int64_t y = 0; y < part.size.height; ++y) {
    std::uint8_t* out = sink.row(y);
    JSAMPROW row = cmyk != nullptr ? cmyk : out;
    jpeg_read_scanlines(&state, &row, 1);
    if (cmyk != nullptr) put_cmyk(cmyk, part.size.width, out, part.channels);
    sink.put(y);
  }
  if (state.output_scanline == state.output_height) jpeg_finish_decompress(&state);
  return true;
}

[[noreturn]] void fail(const EncodedImage& image, const ImageInfo& info, const JpegLibrary& library,
                       const Room& room) {
  if (library.refused() > 0)
    fail_for_room(image, info,
                  room.size() - room.left() + Bytes{static_cast<std::int64_t>(library.refused())},
                  room.size());
  // The library tells the source where it is only from time to time; its end is certain.
  if (library.ended_early())
    fail_image(image, image.bytes.size(), "the file ends in the middle of the JPEG data");
  fail_image(image, image.bytes.size() - library.unread(),
             "a JPEG that cannot be decoded (" + std::string(library.message()) + ")");
}

}  // namespace

ImageInfo probe_jpeg(const EncodedImage& image) {
  ImageInfo info{.format = ImageFormat::jpeg};
  JpegFrame frame;
  std::optional<int> exif;
  std::optional<int> xmp;
  std::size_t at = 2;
  for (;;) {
    while (read_number(image, at, 1, Endian::big) != 0xFF) ++at;
    while (read_number(image, at, 1, Endian::big) == 0xFF) ++at;
    const unsigned marker = read_number(image, at++, 1, Endian::big);
    if (marker == 0 || stands_alone(marker)) continue;
    if (marker == kEoi) fail_image(image, at - 2, "a JPEG that ends before its image begins");
    const std::size_t length = read_number(image, at, 2, Endian::big);
    if (length < 2) fail_image(image, at, "a marker of impossible length");
    if (is_frame(marker)) frame = read_frame(image, at, marker, info);
    if (marker == kSos) break;
    if (marker == kApp1 && at + length <= image.bytes.size()) {
      const std::span<const std::byte> block = image.bytes.subspan(at + 2, length - 2);
      if (begins(block, kExif)) exif = exif_orientation(block.subspan(kExif.size()));
      if (begins(block, kXmp)) xmp = xmp_orientation(block.subspan(kXmp.size()));
    }
    at += length;
  }
  info.orientation = exif.value_or(xmp.value_or(1));
  if (frame.marker == 0) fail_image(image, at, "image data before the JPEG tells its size");
  const bool several_scans =
      read_number(image, at + 2, 1, Endian::big) < static_cast<unsigned>(info.channels);
  info.is_progressive = frame.marker == 0xC2 || frame.marker == 0xCA || several_scans;
  info.row_bytes = {row_bytes(frame, info)};
  // Coefficients, and where their rows begin.
  if (info.is_progressive)
    info.whole_image_bytes = {frame.blocks * static_cast<std::int64_t>(sizeof(JBLOCK)) +
                              Room::rounded(frame.block_rows * 8 + 1024)};
  return info;
}

Bytes jpeg_bytes(const ImageInfo& info, const StoredRequest& /*request*/) {
  // Tables and states of the library; what it holds of the image; a row of CMYK.
  const std::int64_t cmyk = info.channels == 4 ? Room::rounded(4 * info.stored_width) : 0;
  return 96_KiB + info.row_bytes + info.whole_image_bytes + Bytes{cmyk};
}

StoredPart decode_jpeg(const EncodedImage& image, const ImageInfo& info,
                       const StoredRequest& request, const CodecTools& tools, RowSink& sink) {
  const std::int64_t scale = request.scale;
  const Rect& crop = request.crop;
  const std::int64_t full_width = (info.stored_width + scale - 1) / scale;
  const std::int64_t full_height = (info.stored_height + scale - 1) / scale;
  // Colour is interpolated between neighbours: two more columns, and the outermost wanted pixels
  // are what a full decode makes of them.
  constexpr std::int64_t kNeighbours = 2;
  const std::int64_t first = std::max<std::int64_t>(crop.x / scale - kNeighbours, 0);
  const std::int64_t last =
      std::min((crop.x + crop.width + scale - 1) / scale + kNeighbours, full_width);
  const std::int64_t top = crop.y / scale;
  const std::int64_t bottom = std::min((crop.y + crop.height + scale - 1) / scale, full_height);

  // The fast path wants 512 bytes for each block of an MCU at once.
  constexpr std::size_t kTooLittle = 500;
  JpegLibrary& library = tools.jpeg;
  library.begin(image.bytes, request.thorough ? kTooLittle : image.bytes.size(), tools.room);
  auto left = static_cast<JDIMENSION>(first);
  auto width = static_cast<JDIMENSION>(last - first);
  if (!start(library, request, &left, &width)) fail(image, info, library, tools.room);
  if (library.state().output_height != full_height)
    fail_image(image, std::nullopt, "a JPEG that tells two sizes");
  const StoredPart part{.size = {.height = bottom - top, .width = width},
                        .channels = request.channels,
                        .coverage = {left * scale, top * scale, scale}};
  sink.begin(part, tools.room);
  std::uint8_t* cmyk = nullptr;
  if (library.state().num_components == 4)
    cmyk = tools.room.take_array<std::uint8_t>(std::size_t{4} * width).data();
  if (!read_rows(library, static_cast<JDIMENSION>(top), part, cmyk, sink))
    fail(image, info, library, tools.room);
  return part;
}

}  // namespace plimsoll
