#include "data/source/idx.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <span>
#include <string>

#include "base/error.h"
#include "base/files.h"

namespace plimsoll {
namespace {

constexpr unsigned kBuffer = 64 * 1024;
// Deflate cannot do better than 1032 to 1; no honest file declares more than this allows.
constexpr std::int64_t kMaxRatio = 1032;

// Bytes of a file, inflated on the way if it is compressed.
class ByteStream {
 public:
  explicit ByteStream(const std::filesystem::path& path) : path_(path) {
    InputFile file = open_input(path);
    size_ = file.size;
    stream_.reset(::gzdopen(file.handle.descriptor(), "rb"));
    if (!stream_) throw_file_error(path, "cannot open", ENOMEM);
    file.handle.release();
    ::gzbuffer(stream_.get(), kBuffer);
    is_plain_ = ::gzdirect(stream_.get()) != 0;
  }

  // Fills as much of `out` as the stream has; returns how much that is.
  std::size_t read(std::span<std::uint8_t> out) {
    std::size_t done = 0;
    while (done < out.size()) {
      const auto part = static_cast<unsigned>(std::min<std::size_t>(out.size() - done, 1U << 30));
      const int got = ::gzread(stream_.get(), out.data() + done, part);
      check();
      if (got <= 0) break;
      done += static_cast<std::size_t>(got);
      position_ += got;
    }
    return done;
  }

  std::int64_t position() const { return position_; }

  // The most that the stream can hold.
  Bytes capacity() const { return is_plain_ ? size_ : size_ * kMaxRatio; }

  [[noreturn]] void fail(std::string got, std::string expected, std::int64_t byte) const {
    throw DataError({.where = path_.string() + ": byte " + std::to_string(byte) +
                              (is_plain_ ? "" : " of the uncompressed data"),
                     .got = std::move(got),
                     .expected = std::move(expected),
                     .byte = byte});
  }

 private:
  struct Close {
    void operator()(gzFile stream) const { ::gzclose(stream); }
  };

  void check() const {
    int code = Z_OK;
    const char* text = ::gzerror(stream_.get(), &code);
    if (code == Z_ERRNO) throw_file_error(path_, "cannot read", errno);
    if (code != Z_OK && code != Z_STREAM_END)
      fail(code == Z_BUF_ERROR ? "the compressed data ends too early"
                               : "the compressed data is damaged (" + std::string(text) + ")",
           "expected a whole gzip file", position_);
  }

  const std::filesystem::path& path_;
  std::unique_ptr<gzFile_s, Close> stream_;
  Bytes size_;
  bool is_plain_ = true;
  std::int64_t position_ = 0;
};

void read_exactly(ByteStream& stream, std::span<std::uint8_t> out, const std::string& what) {
  const std::size_t got = stream.read(out);
  if (got != out.size())
    stream.fail("the file ends in " + what,
                "expected " + std::to_string(out.size() - got) + " more bytes", stream.position());
}

}  // namespace

IdxArray read_idx(const std::filesystem::path& path, Bytes limit) {
  ByteStream stream(path);
  std::array<std::uint8_t, 4> magic{};
  read_exactly(stream, magic, "the magic number");
  if (magic[0] != 0 || magic[1] != 0) stream.fail("no IDX magic number", "expected two zeros", 0);
  if (magic[2] != 0x08)
    stream.fail("values of type " + std::to_string(magic[2]), "expected 8, unsigned bytes", 2);
  if (magic[3] == 0) stream.fail("no dimensions", "expected at least one", 3);

  IdxArray array;
  std::int64_t total = 1;
  for (int axis = 0; axis < magic[3]; ++axis) {
    std::array<std::uint8_t, 4> bytes{};
    read_exactly(stream, bytes, "the size of dimension " + std::to_string(axis));
    std::int64_t dim = 0;
    for (const std::uint8_t byte : bytes) dim = dim << 8 | byte;
    const std::int64_t at = stream.position() - 4;
    if (dim == 0) stream.fail("a dimension of size 0", "expected at least 1", at);
    if (__builtin_mul_overflow(total, dim, &total) || Bytes{total} > limit)
      stream.fail("sizes that make more than " + to_string(limit), "expected at most that", at);
    array.shape.push_back(dim);
  }
  if (Bytes{total} > stream.capacity())
    stream.fail(std::to_string(total) + " values by its sizes",
                "expected no more than a file of this length can hold", 4);

  array.values.resize(static_cast<std::size_t>(total));
  read_exactly(stream, array.values, "its values");
  // Reading on also makes zlib compare the checksum at the end of the stream.
  std::array<std::uint8_t, 1> more{};
  if (stream.read(more) != 0)
    stream.fail("more bytes after the values", "expected the file to end", stream.position() - 1);
  return array;
}

}  // namespace plimsoll
