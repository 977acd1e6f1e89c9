// A file that is gone when the process is, however that ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>

#include "base/files.h"

namespace plimsoll {

// Made in a directory, but no name leads to it. What passes through it is handed to the disk and
// forgotten, since cached pages count against a container. Thread-safe for different ranges.
class NamelessFile {
 public:
  // Not open, and errno told why, where the directory takes no files.
  explicit NamelessFile(const std::filesystem::path& directory);

  bool is_open() const { return handle_.is_open(); }
  int descriptor() const { return handle_.descriptor(); }

  // 0, or the error of the system.
  int write(const std::byte* data, std::int64_t bytes, std::int64_t offset) const noexcept;
  int read(std::byte* data, std::int64_t bytes, std::int64_t offset) const noexcept;

 private:
  FileHandle handle_;
};

}  // namespace plimsoll
