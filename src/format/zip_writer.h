// Zip archives, written entry by entry as they come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"

namespace plimsoll {

// Writes one archive of stored entries; in the form of zip64 where a number needs it. The same
// entries give the same file, bit for bit: times are 1980. The file appears when commit() returns;
// a writer destroyed before leaves nothing. Thread-compatible.
class ZipWriter {
 public:
  explicit ZipWriter(std::filesystem::path path);

  // Begins an entry of so many bytes. Names are relative, with slashes, each once; the entry before
  // must be complete. Anything else is a bug.
  void begin(std::string_view name, std::int64_t bytes);
  // The next bytes of the entry, in as many pieces as is convenient.
  void append(std::span<const std::byte> piece);
  // A whole entry.
  void add(std::string_view name, std::string_view text);

  void commit();

 private:
  struct Written {
    std::string name;
    std::int64_t bytes = 0;
    std::int64_t header = 0;  // where it begins
    std::uint32_t crc32 = 0;
  };

  void write(std::string_view bytes);
  void finish_entry();

  AtomicFile file_;
  std::vector<Written> entries_;
  std::set<std::string, std::less<>> names_;
  std::int64_t position_ = 0;
  std::int64_t left_ = 0;  // of the entry that is being written
  bool is_inside_ = false;
};

}  // namespace plimsoll
