#include "data/source/tfrecord.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <utility>

#include "base/crc32c.h"
#include "base/error.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kRecordPiece = 256 * 1024;

template <typename T>
T little_endian(std::span<const std::byte> bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

bool is_length_whole(std::span<const std::byte> header) {
  return mask_crc32c(crc32c(header.first(8))) == little_endian<std::uint32_t>(header.subspan(8));
}

}  // namespace

TfRecordReader::TfRecordReader(const std::filesystem::path& path, Bytes limit)
    : file_(open_input(path)), limit_(limit) {}

std::span<const std::byte> TfRecordReader::peek(std::int64_t count) {
  const std::int64_t skipped = position_ - buffer_start_;
  if (skipped + count > std::ssize(buffer_)) {
    const std::int64_t want = std::min(std::max(count, kRecordPiece), file_.size.count - position_);
    // Emptied first: growing would keep the old bytes beside the new, to copy what is read again.
    if (std::cmp_less(buffer_.capacity(), want)) buffer_ = {};
    buffer_start_ = position_;
    buffer_.resize(static_cast<std::size_t>(want));
    file_.read_at(position_, buffer_);
  }
  return std::span<const std::byte>(buffer_).subspan(
      static_cast<std::size_t>(position_ - buffer_start_), static_cast<std::size_t>(count));
}

void TfRecordReader::fail(std::string got, std::string expected, std::string hint) const {
  throw DataError({.where = file_.path.string() + ", record " + std::to_string(number_) +
                            " at byte " + std::to_string(position_),
                   .got = std::move(got),
                   .expected = std::move(expected),
                   .hint = std::move(hint),
                   .byte = position_});
}

std::optional<TfRecord> TfRecordReader::next() {
  const std::int64_t left = file_.size.count - position_;
  if (left == 0) return std::nullopt;
  if (left < TfRecord::kHeader + 4)
    fail("the file ends within the record", "expected a whole one", "the file was cut short");
  const std::span<const std::byte> header = peek(TfRecord::kHeader);
  if (!is_length_whole(header))
    fail("the length's checksum is wrong",
         number_ == 0 ? "expected a TFRecord file" : "expected the beginning of a record",
         number_ == 0 ? "" : "this record and all behind it in this file are lost");
  const auto length = little_endian<std::uint64_t>(header);
  const auto room = static_cast<std::uint64_t>(left - TfRecord::kHeader - 4);
  if (length > room)
    fail("a record of " + std::to_string(length) + " bytes, and the file has " +
             std::to_string(room) + " more",
         "expected the file to hold it", "the file was cut short");
  if (length > static_cast<std::uint64_t>(limit_.count))
    fail("a record of " + std::to_string(length) + " bytes",
         "expected at most " + to_string(limit_));
  const auto size = static_cast<std::size_t>(length);
  const std::span<const std::byte> whole =
      peek(TfRecord::kHeader + static_cast<std::int64_t>(length) + 4);
  TfRecord record{.number = number_, .offset = position_};
  record.payload = whole.subspan(TfRecord::kHeader, size);
  record.is_whole = mask_crc32c(crc32c(record.payload)) ==
                    little_endian<std::uint32_t>(whole.subspan(TfRecord::kHeader + size));
  position_ += std::ssize(whole);
  ++number_;
  return record;
}

RecordPacking sniff_records(const std::filesystem::path& path) {
  const InputFile file = open_input(path);
  std::array<std::byte, TfRecord::kHeader> start{};
  const auto have =
      static_cast<std::size_t>(std::min<std::int64_t>(file.size.count, TfRecord::kHeader));
  file.read_at(0, std::span(start).first(have));
  if (have == start.size() && is_length_whole(start)) return RecordPacking::plain;
  if (have < 2) return RecordPacking::unknown;
  const auto a = static_cast<unsigned>(start[0]);
  const auto b = static_cast<unsigned>(start[1]);
  if (a == 0x1F && b == 0x8B) return RecordPacking::gzip;
  if (a == 0x78 && (a << 8 | b) % 31 == 0) return RecordPacking::zlib;
  return RecordPacking::unknown;
}

}  // namespace plimsoll
