// PNG: headers by a walk over the chunks, pixels by libpng.
#include <png.h>

#include <csetjmp>
#include <cstdio>
#include <cstring>

#include "data/codec/codec.h"
#include "data/picture/orientation.h"

namespace plimsoll {
namespace {

constexpr std::size_t kSignature = 8;
constexpr std::size_t kChunkHead = 8;

// One decompression. Only types that longjmp may pass over.
struct Job {
  Room* room;
  std::size_t refused;  // what libpng asked for when the room had too little
  png_structp png;
  png_infop info;
  const std::byte* bytes;
  std::size_t size;
  std::size_t position;
  bool ended_early;
  char message[128];
};

void on_error(png_structp png, png_const_charp message) {
  auto* job = static_cast<Job*>(png_get_error_ptr(png));
  std::snprintf(job->message, sizeof(job->message), "%s", message);
  png_longjmp(png, 1);
}

// About ancillary chunks, which no pixel depends on.
void on_warning(png_structp /*png*/, png_const_charp /*message*/) {}

void read_bytes(png_structp png, png_bytep out, std::size_t size) {
  auto* job = static_cast<Job*>(png_get_io_ptr(png));
  if (size > job->size - job->position) {
    job->position = job->size;
    job->ended_early = true;
    png_error(png, "");
  }
  std::memcpy(out, job->bytes + job->position, size);
  job->position += size;
}

png_voidp take(png_structp png, png_alloc_size_t size) {
  auto* job = static_cast<Job*>(png_get_mem_ptr(png));
  void* memory = job->room->take(size);
  if (memory == nullptr) job->refused = size;
  return memory;
}

void give_back(png_structp png, png_voidp memory) {
  static_cast<Job*>(png_get_mem_ptr(png))->room->give_back(memory);
}

// Reads up to the image data and asks for rows of 8-bit grey or RGB.
bool start(Job& job, int channels) {
  if (setjmp(png_jmpbuf(job.png)) != 0) return false;
  png_set_read_fn(job.png, &job, read_bytes);
  png_set_user_limits(job.png, 0x7FFFFFFF, 0x7FFFFFFF);
  // Every chunk that no pixel depends on is passed over: texts and profiles can be bombs too.
  png_set_keep_unknown_chunks(job.png, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
  png_read_info(job.png, job.info);
  const int type = png_get_color_type(job.png, job.info);
  if (type == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(job.png);
  if (type == PNG_COLOR_TYPE_GRAY) png_set_expand_gray_1_2_4_to_8(job.png);
  png_set_strip_16(job.png);
  png_set_strip_alpha(job.png);
  if (channels == 3) png_set_gray_to_rgb(job.png);
  png_set_interlace_handling(job.png);
  png_read_update_info(job.png, job.info);
  return true;
}

// Reads one row; interlaced images come as one pass over all rows after the other.
bool read_row(Job& job, png_bytep row) {
  if (setjmp(png_jmpbuf(job.png)) != 0) return false;
  png_read_row(job.png, row, nullptr);
  return true;
}

bool read_all(Job& job, png_bytep rows, std::size_t row_bytes, std::int64_t height, int passes) {
  if (setjmp(png_jmpbuf(job.png)) != 0) return false;
  for (int pass = 0; pass < passes; ++pass)
    for (std::int64_t y = 0; y < height; ++y)
      png_read_row(job.png, rows + static_cast<std::size_t>(y) * row_bytes, nullptr);
  return true;
}

bool finish(Job& job) {
  if (setjmp(png_jmpbuf(job.png)) != 0) return false;
  png_read_end(job.png, nullptr);
  return true;
}

// Ends what libpng holds, on every way out. Its memory is the room's.
class Reader {
 public:
  Reader(const EncodedImage& image, const ImageInfo& info, Room& room)
      : image_(image), info_(info) {
    job_.room = &room;
    job_.bytes = image.bytes.data();
    job_.size = image.bytes.size();
    job_.png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, &job_, on_error, on_warning, &job_,
                                        take, give_back);
    if (job_.png != nullptr) job_.info = png_create_info_struct(job_.png);
    if (job_.info == nullptr) {
      png_destroy_read_struct(&job_.png, &job_.info, nullptr);
      check(false);
    }
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() { png_destroy_read_struct(&job_.png, &job_.info, nullptr); }

  Job& job() { return job_; }
  void check(bool done) const {
    if (done) return;
    if (job_.refused > 0)
      fail_for_room(
          image_, info_,
          job_.room->size() - job_.room->left() + Bytes{static_cast<std::int64_t>(job_.refused)},
          job_.room->size());
    if (job_.ended_early)
      fail_image(image_, job_.size, "the file ends in the middle of the PNG data");
    fail_image(image_, job_.position,
               "a PNG that cannot be decoded (" + std::string(job_.message) + ")");
  }

 private:
  const EncodedImage& image_;
  const ImageInfo& info_;
  Job job_{};
};

// Rows of `channels` samples, as wanted from as read.
void copy_row(const std::uint8_t* from, std::size_t from_channels, std::int64_t pixels,
              std::uint8_t* to, int channels) {
  const auto count = static_cast<std::size_t>(pixels);
  if (from_channels == static_cast<std::size_t>(channels)) {
    std::memcpy(to, from, count * from_channels);
    return;
  }
  for (std::size_t x = 0; x < count; ++x, from += 3) *to++ = luma(from[0], from[1], from[2]);
}

}  // namespace

ImageInfo probe_png(const EncodedImage& image) {
  const auto big = [&](std::size_t at, std::size_t size) {
    return read_number(image, at, size, Endian::big);
  };
  constexpr std::uint32_t kIhdr = 0x49484452, kExif = 0x65584966, kText = 0x69545874,
                          kIend = 0x49454E44;
  // The keyword, and a zero for "not compressed".
  constexpr std::string_view kXmp("XML:com.adobe.xmp\0\0", 19);
  if (big(kSignature + 4, 4) != kIhdr)
    fail_image(image, kSignature, "a PNG that does not begin with its header");
  ImageInfo info{.format = ImageFormat::png};
  const std::size_t header = kSignature + kChunkHead;
  info.stored_width = big(header, 4);
  info.stored_height = big(header + 4, 4);
  info.bit_depth = static_cast<int>(big(header + 8, 1));
  const std::uint32_t type = big(header + 9, 1);
  info.channels = (type & PNG_COLOR_MASK_COLOR) != 0 ? 3 : 1;
  info.has_alpha = (type & PNG_COLOR_MASK_ALPHA) != 0;
  info.is_progressive = big(header + 12, 1) != 0;
  check_sides(image, info);
  if (info.is_progressive) info.whole_image_bytes = {info.stored_width * info.stored_height * 3};
  // EXIF and XMP may stand before or after the image data.
  std::optional<int> exif;
  std::optional<int> xmp;
  std::size_t at = kSignature;
  while (at + kChunkHead <= image.bytes.size()) {
    const std::size_t length = big(at, 4);
    const std::uint32_t name = big(at + 4, 4);
    at += kChunkHead;
    if (length > image.bytes.size() - at || name == kIend) break;
    const std::span<const std::byte> content = image.bytes.subspan(at, length);
    if (name == kExif) exif = exif_orientation(content);
    // Compressed packets are passed over.
    if (name == kText && begins(content, kXmp)) xmp = xmp_orientation(content);
    at += length;
    if (image.bytes.size() - at < 4) break;
    at += 4;
  }
  info.orientation = exif.value_or(xmp.value_or(1));
  return info;
}

Bytes png_bytes(const ImageInfo& info, const StoredRequest& /*request*/) {
  // zlib's window, libpng's own structures and buffers; three rows of at most 8 bytes a pixel, and
  // one of ours.
  return 96_KiB + Bytes{info.stored_width * 32} + info.whole_image_bytes;
}

StoredPart decode_png(const EncodedImage& image, const ImageInfo& info,
                      const StoredRequest& request, const CodecTools& tools, RowSink& sink) {
  Reader reader(image, info, tools.room);
  Job& job = reader.job();
  reader.check(start(job, request.channels));
  if (png_get_image_width(job.png, job.info) != info.stored_width ||
      png_get_image_height(job.png, job.info) != info.stored_height)
    fail_image(image, std::nullopt, "a PNG that tells two sizes");
  const Rect& crop = request.crop;
  const std::size_t samples = png_get_channels(job.png, job.info);
  const std::size_t row_bytes = png_get_rowbytes(job.png, job.info);
  if (row_bytes != static_cast<std::size_t>(info.stored_width) * samples ||
      (samples != 1 && samples != 3))
    fail_image(image, std::nullopt, "a PNG of an unknown kind");
  const std::size_t skipped = static_cast<std::size_t>(crop.x) * samples;
  const StoredPart part{.size = {.height = crop.height, .width = crop.width},
                        .channels = request.channels,
                        .coverage = {crop.x, crop.y, 1}};
  sink.begin(part, tools.room);
  const auto put = [&](std::int64_t y, const std::uint8_t* row) {
    copy_row(row + skipped, samples, crop.width, sink.row(y), request.channels);
    sink.put(y);
  };
  if (info.is_progressive) {
    const std::span<std::uint8_t> whole = tools.room.take_array<std::uint8_t>(
        row_bytes * static_cast<std::size_t>(info.stored_height));
    constexpr int kPasses = 7;
    reader.check(read_all(job, whole.data(), row_bytes, info.stored_height, kPasses));
    for (std::int64_t y = 0; y < crop.height; ++y)
      put(y, whole.data() + static_cast<std::size_t>(crop.y + y) * row_bytes);
  } else {
    const std::span<std::uint8_t> row = tools.room.take_array<std::uint8_t>(row_bytes);
    for (std::int64_t y = 0; y < crop.y + crop.height; ++y) {
      reader.check(read_row(job, row.data()));
      if (y >= crop.y) put(y - crop.y, row.data());
    }
  }
  if (crop.y + crop.height == info.stored_height) reader.check(finish(job));
  return part;
}

}  // namespace plimsoll
