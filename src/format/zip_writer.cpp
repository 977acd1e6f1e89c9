#include "format/zip_writer.h"

#include <zlib.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "format/little_endian.h"
#include "format/zip_directory.h"

namespace plimsoll {
namespace {

constexpr unsigned kZipVersion = 20;
constexpr unsigned kZipVersion64 = 45;
// The checksum stands behind the bytes; names are UTF-8.
constexpr unsigned kFlags = 1U << 3 | 1U << 11;
constexpr unsigned kMadeByUnix = 3U << 8;
constexpr std::uint64_t kPermissions = 0100644ULL << 16;
constexpr unsigned kDay = 1U << 5 | 1U;  // the first of January 1980

bool needs_64(std::int64_t number) { return number >= static_cast<std::int64_t>(kZipElsewhere); }

std::uint64_t bits(std::int64_t number) { return static_cast<std::uint64_t>(number); }

std::uint64_t narrow(std::int64_t number) {
  return needs_64(number) ? kZipElsewhere : bits(number);
}

}  // namespace

ZipWriter::ZipWriter(std::filesystem::path path) : file_(std::move(path)) {}

void ZipWriter::write(std::string_view bytes) {
  file_.write(bytes);
  position_ += static_cast<std::int64_t>(bytes.size());
}

void ZipWriter::begin(std::string_view name, std::int64_t bytes) {
  finish_entry();
  expect(names_.emplace(name).second, "an archive has every name once");
  const bool wide = needs_64(bytes);
  std::string header;
  append_little_endian(header, kZipLocalSignature, 4);
  append_little_endian(header, wide ? kZipVersion64 : kZipVersion, 2);
  append_little_endian(header, kFlags, 2);
  append_little_endian(header, 0, 2);  // stored
  append_little_endian(header, 0, 2);  // midnight
  append_little_endian(header, kDay, 2);
  append_little_endian(header, 0, 4);  // the checksum, which is not known yet
  append_little_endian(header, wide ? kZipElsewhere : 0, 4);
  append_little_endian(header, wide ? kZipElsewhere : 0, 4);
  append_little_endian(header, name.size(), 2);
  append_little_endian(header, wide ? 20 : 0, 2);
  header += name;
  if (wide) {
    append_little_endian(header, kZip64Extra, 2);
    append_little_endian(header, 16, 2);
    append_little_endian(header, 0, 8);
    append_little_endian(header, 0, 8);
  }
  entries_.push_back({.name = std::string(name), .bytes = bytes, .header = position_});
  left_ = bytes;
  is_inside_ = true;
  write(header);
}

void ZipWriter::append(std::span<const std::byte> piece) {
  expect(is_inside_ && static_cast<std::int64_t>(piece.size()) <= left_,
         "an entry has as many bytes as it was begun with");
  file_.write(piece);
  std::uint32_t& crc32 = entries_.back().crc32;
  crc32 = static_cast<std::uint32_t>(
      ::crc32_z(crc32, reinterpret_cast<const Bytef*>(piece.data()), piece.size()));
  position_ += static_cast<std::int64_t>(piece.size());
  left_ -= static_cast<std::int64_t>(piece.size());
}

void ZipWriter::add(std::string_view name, std::string_view text) {
  begin(name, static_cast<std::int64_t>(text.size()));
  append(std::as_bytes(std::span(text)));
}

void ZipWriter::finish_entry() {
  if (!is_inside_) return;
  expect(left_ == 0, "an entry is complete before the next");
  const Written& entry = entries_.back();
  const std::size_t width = needs_64(entry.bytes) ? 8 : 4;
  std::string descriptor;
  append_little_endian(descriptor, kZipDescriptorSignature, 4);
  append_little_endian(descriptor, entry.crc32, 4);
  append_little_endian(descriptor, bits(entry.bytes), width);
  append_little_endian(descriptor, bits(entry.bytes), width);
  write(descriptor);
  is_inside_ = false;
}

void ZipWriter::commit() {
  finish_entry();
  const std::int64_t start = position_;
  std::string directory;
  for (const Written& entry : entries_) {
    std::string wide;
    if (needs_64(entry.bytes)) {
      append_little_endian(wide, bits(entry.bytes), 8);
      append_little_endian(wide, bits(entry.bytes), 8);
    }
    if (needs_64(entry.header)) append_little_endian(wide, bits(entry.header), 8);
    const unsigned version = wide.empty() ? kZipVersion : kZipVersion64;
    append_little_endian(directory, kZipEntrySignature, 4);
    append_little_endian(directory, kMadeByUnix | version, 2);
    append_little_endian(directory, version, 2);
    append_little_endian(directory, kFlags, 2);
    append_little_endian(directory, 0, 2);
    append_little_endian(directory, 0, 2);
    append_little_endian(directory, kDay, 2);
    append_little_endian(directory, entry.crc32, 4);
    append_little_endian(directory, narrow(entry.bytes), 4);
    append_little_endian(directory, narrow(entry.bytes), 4);
    append_little_endian(directory, entry.name.size(), 2);
    append_little_endian(directory, wide.empty() ? 0 : wide.size() + 4, 2);
    append_little_endian(directory, 0, 2);  // no comment
    append_little_endian(directory, 0, 2);  // the only part
    append_little_endian(directory, 0, 2);  // no text
    append_little_endian(directory, kPermissions, 4);
    append_little_endian(directory, narrow(entry.header), 4);
    directory += entry.name;
    if (wide.empty()) continue;
    append_little_endian(directory, kZip64Extra, 2);
    append_little_endian(directory, wide.size(), 2);
    directory += wide;
  }
  const auto size = static_cast<std::int64_t>(directory.size());
  const std::uint64_t count = entries_.size();
  if (needs_64(start) || needs_64(size) || count >= 0xFFFF) {
    const std::int64_t end = start + size;
    append_little_endian(directory, kZip64EndSignature, 4);
    append_little_endian(directory, 44, 8);  // bytes behind this field
    append_little_endian(directory, kMadeByUnix | kZipVersion64, 2);
    append_little_endian(directory, kZipVersion64, 2);
    append_little_endian(directory, 0, 4);
    append_little_endian(directory, 0, 4);
    append_little_endian(directory, count, 8);
    append_little_endian(directory, count, 8);
    append_little_endian(directory, bits(size), 8);
    append_little_endian(directory, bits(start), 8);
    append_little_endian(directory, kZip64LocatorSignature, 4);
    append_little_endian(directory, 0, 4);
    append_little_endian(directory, bits(end), 8);
    append_little_endian(directory, 1, 4);
  }
  append_little_endian(directory, kZipEndSignature, 4);
  append_little_endian(directory, 0, 4);
  append_little_endian(directory, std::min<std::uint64_t>(count, 0xFFFF), 2);
  append_little_endian(directory, std::min<std::uint64_t>(count, 0xFFFF), 2);
  append_little_endian(directory, narrow(size), 4);
  append_little_endian(directory, narrow(start), 4);
  append_little_endian(directory, 0, 2);
  write(directory);
  file_.commit();
}

}  // namespace plimsoll
