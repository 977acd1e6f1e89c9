#include "data/source/unpack.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <functional>
#include <span>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "base/random.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kUnpackPiece = 64 * 1024;

class Inflater {
 public:
  Inflater() {
    // 32: gzip or zlib, told apart by the header.
    if (::inflateInit2(&stream_, 15 + 32) != Z_OK) throw std::bad_alloc();
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() { ::inflateEnd(&stream_); }

  z_stream& stream() { return stream_; }

 private:
  z_stream stream_{};
};

using Sink = std::function<void(std::span<const std::byte>)>;

// Inflates the whole file, members of a concatenated gzip file one after the other.
std::int64_t inflate_file(const fs::path& path, const Sink& sink) {
  const InputFile file = open_input(path);
  Inflater inflater;
  z_stream& stream = inflater.stream();
  std::vector<std::byte> packed(kUnpackPiece);
  std::vector<std::byte> plain(kUnpackPiece);
  std::int64_t position = 0;
  std::int64_t total = 0;
  bool ended = false;
  bool has_more = false;  // the output was full: zlib may hold more of it
  const auto fail = [&](const std::string& got) {
    const std::int64_t byte = position - std::int64_t{stream.avail_in};
    throw DataError({.where = path.string() + ": byte " + std::to_string(byte),
                     .got = got,
                     .expected = "expected a whole gzip or zlib file",
                     .byte = byte});
  };
  while (true) {
    if (stream.avail_in == 0 && position < file.size.count) {
      const std::size_t size =
          std::min(kUnpackPiece, static_cast<std::size_t>(file.size.count - position));
      file.read_at(position, std::span(packed).first(size));
      position += static_cast<std::int64_t>(size);
      stream.next_in = reinterpret_cast<Bytef*>(packed.data());
      stream.avail_in = static_cast<uInt>(size);
    }
    if (stream.avail_in == 0 && !has_more) {
      if (!ended) fail("the compressed data ends too early");
      return total;
    }
    if (ended && ::inflateReset(&stream) != Z_OK) fail("the compressed data is damaged");
    stream.next_out = reinterpret_cast<Bytef*>(plain.data());
    stream.avail_out = kUnpackPiece;
    const int code = ::inflate(&stream, Z_NO_FLUSH);
    if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
      fail(stream.msg == nullptr
               ? "the compressed data is damaged"
               : "the compressed data is damaged (" + std::string(stream.msg) + ")");
    const std::size_t made = kUnpackPiece - stream.avail_out;
    sink(std::span(plain).first(made));
    total += static_cast<std::int64_t>(made);
    has_more = stream.avail_out == 0 && code != Z_STREAM_END;
    ended = code == Z_STREAM_END;
  }
}

}  // namespace

fs::path unpack_once(const fs::path& path, const fs::path& cache) {
  const fs::path absolute = fs::absolute(path);
  struct stat status {};
  if (::stat(absolute.c_str(), &status) != 0) throw_file_error(path, "cannot stat", errno);
  const std::string identity = fmt::format("{}|{}|{}.{}", absolute.string(), status.st_size,
                                           status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
  const fs::path target =
      cache / fmt::format("{}-{:016x}.tfrecord", path.stem().string(), fnv1a64(identity));
  std::error_code error;
  if (fs::exists(target, error)) return target;

  make_directories(cache);
  const std::int64_t size = inflate_file(path, [](std::span<const std::byte>) {});
  const fs::space_info space = fs::space(cache, error);
  if (!error && static_cast<std::uintmax_t>(size) > space.available)
    throw DataError({.where = cache.string(),
                     .got = to_string(Bytes{static_cast<std::int64_t>(space.available)}) +
                            " of the disk is free",
                     .expected = "expected " + to_string(Bytes{size}) + " for " +
                                 path.filename().string() + ", unpacked",
                     .hint = "free some space, or choose another folder with --cache"});
  AtomicFile file(target);
  inflate_file(path, [&](std::span<const std::byte> bytes) { file.write(bytes); });
  file.commit();
  return target;
}

}  // namespace plimsoll
