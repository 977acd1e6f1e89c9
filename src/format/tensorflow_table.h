// Tables of keys and values as LevelDB and TensorFlow write them: sorted, in blocks that may be
// packed by Snappy, each with a CRC-32C, found by an index block that the file's footer names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/files.h"
#include "base/mapped_file.h"

namespace plimsoll {

// The contents of one block, checked; mapped where it is not packed.
class TableBlock {
 public:
  std::span<const std::byte> bytes() const {
    return mapped_ ? mapped_->bytes().first(size_) : std::as_bytes(std::span(unpacked_));
  }

 private:
  friend class TensorflowTable;
  std::optional<MappedFile> mapped_;
  std::size_t size_ = 0;
  std::string unpacked_;
};

// Every failure is a DataError that names the file and the byte of the block. Thread-compatible.
class TensorflowTable {
 public:
  // A block's place in the file.
  struct Handle {
    std::int64_t offset = 0, bytes = 0;
  };
  struct Entry {
    std::string_view key;  // until the next entry
    std::span<const std::byte> value;
    Handle block;
    std::int64_t at = 0;  // of the value in its block
  };

  // Longer keys are refused: a key that repeats the one before and adds a byte would make a small
  // file a large one.
  static constexpr std::size_t kMaxKey = 4096;

  // Whether a file ends like a table.
  static bool is_table(const InputFile& file);

  explicit TensorflowTable(const std::filesystem::path& path);

  const InputFile& file() const { return file_; }

  // All entries in order, with keys that rise. Reads every block once.
  void visit(const std::function<void(const Entry& entry)>& take) const;

  // A block that visit() has shown.
  void load(const Handle& handle, TableBlock& block) const;

 private:
  void visit_block(const Handle& handle, const std::function<void(const Entry& entry)>& take) const;
  [[noreturn]] void fail(std::int64_t byte, std::string got) const;

  InputFile file_;
  Handle index_;
};

}  // namespace plimsoll
