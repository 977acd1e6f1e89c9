#include "draw/png.h"

#include <png.h>

#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <exception>
#include <utility>

#include "base/error.h"

namespace plimsoll::draw {
namespace {

constexpr std::int64_t kPiece = std::int64_t{64} * 1024;
constexpr int kCompression = 4;  // photographs gain next to nothing from more

// What a file is made of. Only types that longjmp may pass over.
struct Job {
  png_structp png;
  png_infop info;
  const TakeBytes* take;
  std::exception_ptr* thrown;
  char message[128];
};

void on_error(png_structp png, png_const_charp message) {
  auto* job = static_cast<Job*>(png_get_error_ptr(png));
  std::snprintf(job->message, sizeof(job->message), "%s", message);
  png_longjmp(png, 1);
}
void on_warning(png_structp /*png*/, png_const_charp /*message*/) {}

// No exception may pass through libpng.
bool hand_on(const Job& job, png_bytep bytes, std::size_t size) noexcept {
  try {
    (*job.take)({reinterpret_cast<const char*>(bytes), size});
    return true;
  } catch (...) {
    *job.thrown = std::current_exception();
    return false;
  }
}
void write_bytes(png_structp png, png_bytep bytes, std::size_t size) {
  if (!hand_on(*static_cast<Job*>(png_get_io_ptr(png)), bytes, size)) png_error(png, "");
}
void flush(png_structp /*png*/) {}

bool write_all(Job& job, png_uint_32 width, png_uint_32 height, std::size_t channels,
               const std::uint8_t* pixels) {
  if (setjmp(png_jmpbuf(job.png)) != 0) return false;
  png_set_write_fn(job.png, &job, write_bytes, flush);
  png_set_compression_level(job.png, kCompression);
  png_set_compression_buffer_size(job.png, kPiece);
  png_set_IHDR(job.png, job.info, width, height, 8,
               channels == 1 ? PNG_COLOR_TYPE_GRAY : PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  png_write_info(job.png, job.info);
  for (png_uint_32 y = 0; y < height; ++y)
    png_write_row(job.png, pixels + static_cast<std::size_t>(y) * width * channels);
  png_write_end(job.png, job.info);
  return true;
}

[[noreturn]] void fail(const char* message) {
  throw DataError(
      {.where = "PNG", .got = std::string("cannot be made: ") + message, .expected = {}});
}

}  // namespace

void stream_png(std::int64_t width, std::int64_t height, std::int64_t channels,
                std::span<const std::uint8_t> pixels, const TakeBytes& take) {
  expect(channels == 1 || channels == 3, "a picture is grey or RGB");
  expect(std::cmp_equal(pixels.size(), width * height * channels), "a picture has all its pixels");
  std::exception_ptr thrown;
  Job job{};
  job.take = &take;
  job.thrown = &thrown;
  job.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &job, on_error, on_warning);
  job.info = job.png == nullptr ? nullptr : png_create_info_struct(job.png);
  const bool is_made =
      job.info != nullptr &&
      write_all(job, static_cast<png_uint_32>(width), static_cast<png_uint_32>(height),
                static_cast<std::size_t>(channels), pixels.data());
  png_destroy_write_struct(&job.png, &job.info);
  if (thrown) std::rethrow_exception(thrown);
  if (!is_made) fail(job.message);
}

Bytes stream_png_bytes(std::int64_t width, std::int64_t channels) {
  constexpr std::int64_t kDeflate = std::int64_t{288} * 1024;  // zlib's window and tables
  constexpr std::int64_t kRows = 5;  // at hand, the one before, and filtered ones
  return Bytes{kDeflate + kPiece + kRows * (width * channels + 64)};
}

std::string encode_png(std::int64_t width, std::int64_t height, std::int64_t channels,
                       std::span<const std::uint8_t> pixels) {
  expect(channels == 1 || channels == 3, "a picture is grey or RGB");
  expect(std::cmp_equal(pixels.size(), width * height * channels), "a picture has all its pixels");
  png_image image;
  std::memset(&image, 0, sizeof image);
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::string bytes(size, '\0');
  if (png_image_write_to_memory(&image, bytes.data(), &size, 0, pixels.data(), 0, nullptr) == 0)
    fail(image.message);
  bytes.resize(size);
  bytes.shrink_to_fit();
  return bytes;
}

}  // namespace plimsoll::draw
