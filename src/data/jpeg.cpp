// JPEG: headers by a walk over the markers, pixels by libjpeg-turbo.
#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <cstring>

#include <jerror.h>
#include <jpeglib.h>

#include "base/error.h"
#include "data/codec.h"
#include "data/orientation.h"

namespace plimsoll {
namespace {

// Markers, by the names of the standard.
constexpr unsigned kSoi = 0xD8, kEoi = 0xD9, kSos = 0xDA, kApp1 = 0xE1, kTem = 0x01;
constexpr std::string_view kExif("Exif\0\0", 6);
// No encoder makes so many scans; files that declare them only burn time.
constexpr int kMaxScans = 500;

bool is_frame(unsigned marker) {
  return marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
}

bool stands_alone(unsigned marker) { return marker == kTem || (marker >= 0xD0 && marker <= kSoi); }

struct Frame {
  unsigned marker = 0;
  std::int64_t blocks = 0;  // of 8x8 samples, in all components
};

Frame read_frame(const EncodedImage& image, std::size_t at, unsigned marker, ImageInfo& info) {
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
  Frame frame{.marker = marker};
  for (std::size_t c = 0; c < count; ++c) {
    const unsigned sampling = byte(at + 9 + 3 * c);
    const auto blocks = [](std::int64_t size, unsigned factor, unsigned most) {
      const std::int64_t whole = (size + 8 * most - 1) / (8 * most);
      return whole * factor;
    };
    frame.blocks += blocks(info.stored_width, sampling >> 4, max_x) *
                    blocks(info.stored_height, sampling & 15, max_y);
  }
  return frame;
}

// One decompression. Only types that longjmp may pass over.
struct Job {
  jpeg_decompress_struct state;
  jpeg_error_mgr errors;
  jpeg_source_mgr source;
  jpeg_progress_mgr progress;
  std::jmp_buf back;
  char message[JMSG_LENGTH_MAX];
  // What the source has not handed out yet, and how much it hands out at a time.
  const JOCTET* rest;
  std::size_t rest_size;
  std::size_t piece;
  bool ended_early;
};

[[noreturn]] void give_up(j_common_ptr state) {
  auto* job = static_cast<Job*>(state->client_data);
  state->err->format_message(state, job->message);
  std::longjmp(job->back, 1);
}

// Most warnings mean that pixels were made up. The others are about what no pixel depends on.
void on_message(j_common_ptr state, int level) {
  if (level >= 0) return;
  const int code = state->err->msg_code;
  if (code == JWRN_EXTRANEOUS_DATA || code == JWRN_JFIF_MAJOR || code == JWRN_ADOBE_XFORM) return;
  give_up(state);
}

void ignore(j_decompress_ptr /*state*/) {}

boolean hand_out(j_decompress_ptr state) {
  auto* job = static_cast<Job*>(state->client_data);
  if (job->rest_size == 0) {
    job->ended_early = true;
    std::longjmp(job->back, 1);
  }
  const std::size_t size = std::min(job->piece, job->rest_size);
  state->src->next_input_byte = job->rest;
  state->src->bytes_in_buffer = size;
  job->rest += size;
  job->rest_size -= size;
  return TRUE;
}

void skip(j_decompress_ptr state, long bytes) {
  auto left = static_cast<std::size_t>(std::max(bytes, 0L));
  while (left > state->src->bytes_in_buffer) {
    left -= state->src->bytes_in_buffer;
    hand_out(state);
  }
  state->src->next_input_byte += left;
  state->src->bytes_in_buffer -= left;
}

void on_progress(j_common_ptr state) {
  auto* decompress = reinterpret_cast<j_decompress_ptr>(state);
  if (decompress->input_scan_number <= kMaxScans) return;
  auto* job = static_cast<Job*>(state->client_data);
  std::snprintf(job->message, sizeof(job->message), "it has more than %d scans", kMaxScans);
  std::longjmp(job->back, 1);
}

// Reads the header, sets what is wanted and starts. False: see the message.
bool start(Job& job, std::span<const std::byte> bytes, const StoredRequest& request,
           JDIMENSION* left, JDIMENSION* width) {
  jpeg_decompress_struct& state = job.state;
  state.err = jpeg_std_error(&job.errors);
  state.client_data = &job;
  job.errors.error_exit = give_up;
  job.errors.emit_message = on_message;
  job.ended_early = false;
  if (setjmp(job.back) != 0) return false;
  jpeg_create_decompress(&state);
  job.rest = reinterpret_cast<const JOCTET*>(bytes.data());
  job.rest_size = bytes.size();
  // The fast path wants 512 bytes for each block of an MCU at once.
  constexpr std::size_t kTooLittle = 500;
  job.piece = request.thorough ? kTooLittle : bytes.size();
  job.source = {.next_input_byte = nullptr,
                .bytes_in_buffer = 0,
                .init_source = ignore,
                .fill_input_buffer = hand_out,
                .skip_input_data = skip,
                .resync_to_restart = jpeg_resync_to_restart,
                .term_source = ignore};
  job.progress = {};
  job.progress.progress_monitor = on_progress;
  state.src = &job.source;
  state.progress = &job.progress;
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

// Reads the picture's rows, of which the first is row `top` of the image. `cmyk` is a buffer for
// one row of four samples per pixel, if that is what the image has.
bool read_rows(Job& job, JDIMENSION top, Picture& picture, std::uint8_t* cmyk) {
  jpeg_decompress_struct& state = job.state;
  if (setjmp(job.back) != 0) return false;
  if (top > 0) jpeg_skip_scanlines(&state, top);
  for (std::int64_t y = 0; y < picture.height; ++y) {
    JSAMPROW row = cmyk != nullptr ? cmyk : picture.row(y);
    jpeg_read_scanlines(&state, &row, 1);
    if (cmyk != nullptr)
      put_cmyk(cmyk, picture.width, picture.row(y), static_cast<int>(picture.channels));
  }
  if (state.output_scanline == state.output_height) jpeg_finish_decompress(&state);
  return true;
}

[[noreturn]] void fail(const EncodedImage& image, Job& job) {
  // The library tells the source where it is only from time to time; its end is certain.
  const bool ended = job.ended_early;
  const std::size_t byte =
      image.bytes.size() - (ended ? 0 : job.rest_size + job.source.bytes_in_buffer);
  const std::string message = ended ? "" : job.message;
  jpeg_destroy_decompress(&job.state);
  if (ended) fail_image(image, byte, "the file ends in the middle of the JPEG data");
  fail_image(image, byte, "a JPEG that cannot be decoded (" + message + ")");
}

}  // namespace

ImageInfo probe_jpeg(const EncodedImage& image) {
  ImageInfo info{.format = ImageFormat::jpeg};
  Frame frame;
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
    if (marker == kApp1 && length >= 2 + kExif.size() && at + length <= image.bytes.size() &&
        std::memcmp(image.bytes.data() + at + 2, kExif.data(), kExif.size()) == 0)
      info.orientation =
          exif_orientation(image.bytes.subspan(at + 2 + kExif.size(), length - 2 - kExif.size()));
    at += length;
  }
  if (frame.marker == 0) fail_image(image, at, "image data before the JPEG tells its size");
  const bool several_scans =
      read_number(image, at + 2, 1, Endian::big) < static_cast<unsigned>(info.channels);
  info.is_progressive = frame.marker == 0xC2 || frame.marker == 0xCA || several_scans;
  if (info.is_progressive)
    info.whole_image_bytes = {frame.blocks * static_cast<std::int64_t>(sizeof(JBLOCK))};
  return info;
}

Bytes jpeg_bytes(const ImageInfo& info, const StoredRequest& /*request*/) {
  // The library's tables and pools; then some 50 rows of every component (context rows and
  // pointers to them, one row of blocks, one upsampled group); and pointers to rows of blocks.
  const Bytes rows{info.stored_width * info.channels * 64 + info.stored_height * 16};
  return 192_KiB + rows + info.whole_image_bytes;
}

Coverage decode_jpeg(const EncodedImage& image, const ImageInfo& info, const StoredRequest& request,
                     CodecScratch& scratch, Picture& picture) {
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

  auto left = static_cast<JDIMENSION>(first);
  auto width = static_cast<JDIMENSION>(last - first);
  Job job{};
  if (!start(job, image.bytes, request, &left, &width)) fail(image, job);
  if (job.state.output_height != full_height) {
    jpeg_destroy_decompress(&job.state);
    fail_image(image, std::nullopt, "a JPEG that tells two sizes");
  }
  try {
    picture.reshape(bottom - top, width, request.channels);
    if (job.state.num_components == 4) size_buffer(scratch.row, std::size_t{4} * width);
  } catch (...) {
    jpeg_destroy_decompress(&job.state);
    throw;
  }
  if (!read_rows(job, static_cast<JDIMENSION>(top), picture,
                 job.state.num_components == 4 ? scratch.row.data() : nullptr))
    fail(image, job);
  jpeg_destroy_decompress(&job.state);
  return {left * scale, top * scale, scale};
}

}  // namespace plimsoll
