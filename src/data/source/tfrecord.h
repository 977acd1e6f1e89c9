// TFRecord framing: records of any bytes, each with its length and two checksums.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/files.h"

namespace plimsoll {

struct TfRecord {
  std::int64_t number = 0;             // in its file, from 0
  std::int64_t offset = 0;             // of its length field
  std::span<const std::byte> payload;  // until the next call
  bool is_whole = true;                // the checksum of the payload is right

  // The payload begins after the length and the length's checksum.
  static constexpr std::int64_t kHeader = 12;
};

// Reads one uncompressed file from its beginning, in pieces. Memory: 256 KiB or the largest record.
class TfRecordReader {
 public:
  // No record may be larger than `limit`.
  explicit TfRecordReader(const std::filesystem::path& path, Bytes limit = 1_GiB);

  // The next record; nothing at the end of the file. DataError with record and byte where the
  // framing is lost: a length with a wrong checksum, or a file that ends within a record. There is
  // no way to go on then.
  std::optional<TfRecord> next();

  // Bytes of the file that have been read, and of the whole.
  std::int64_t position() const { return position_; }
  Bytes file_size() const { return file_.size; }
  Bytes memory() const { return {static_cast<std::int64_t>(buffer_.capacity())}; }

 private:
  // `count` bytes at position_, which the file must have.
  std::span<const std::byte> peek(std::int64_t count);
  [[noreturn]] void fail(std::string got, std::string expected, std::string hint = {}) const;

  InputFile file_;
  Bytes limit_;
  std::int64_t position_ = 0;
  std::int64_t number_ = 0;
  std::vector<std::byte> buffer_;
  std::int64_t buffer_start_ = 0;  // file offset of buffer_[0]
};

// How the bytes of a file are packed, by its first ones. A length whose checksum is right makes it
// plain, whatever else it looks like.
enum class RecordPacking { plain, gzip, zlib, unknown };
RecordPacking sniff_records(const std::filesystem::path& path);

}  // namespace plimsoll
