// Zip archives, read where they lie and written as they come: entries that are stored need no copy.
//
// What an archive says of its entries is believed from its directory alone, and only as far as
// every entry's own header and the file's size agree with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/files.h"

namespace plimsoll {

struct ZipEntry {
  std::string name;  // "model/data.pkl"; folders end with a slash
  bool is_stored = true;
  std::int64_t offset = 0;        // of its first byte in the file
  std::int64_t stored_bytes = 0;  // there
  std::int64_t bytes = 0;         // when unpacked; the same if it is stored
  std::uint32_t crc32 = 0;        // of the unpacked bytes
};

// An open archive. Its constructor reads the directory and the header of every entry. Refuses, as a
// DataError that names the file and the entry: names that are absolute, climb ("..") or hold a
// backslash or a zero; two entries of one name; entries that overlap, lie outside the file, are
// encrypted or compressed by anything but deflate; archives in several parts. Thread-compatible.
class ZipReader {
 public:
  explicit ZipReader(const std::filesystem::path& path);

  // In the order of the directory.
  const std::vector<ZipEntry>& entries() const { return entries_; }
  // Null if there is none; valid as long as the reader.
  const ZipEntry* find(std::string_view name) const;

  // The file, for those who read stored entries in place.
  const InputFile& file() const { return file_; }

  // The unpacked bytes of one of entries(), checked against their checksum. DataError if it has
  // more than `limit` bytes, or more than deflate can have made of what is stored, before that much
  // is allocated.
  std::string read(const ZipEntry& entry, Bytes limit) const;

 private:
  InputFile file_;
  std::vector<ZipEntry> entries_;
  std::map<std::string, std::size_t, std::less<>> index_;  // name to position in entries_
};

}  // namespace plimsoll
