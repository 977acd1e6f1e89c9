// Part of a file as memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/files.h"

namespace plimsoll {

// Pages are read when they are touched and are the system's to drop, so nothing is held. Who cuts
// the file short meanwhile kills the reader: hold one no longer than a tensor's reading takes.
class MappedFile {
 public:
  // The range must lie within the file. DataError if it cannot be mapped.
  MappedFile(const InputFile& file, std::int64_t offset, std::int64_t size);
  explicit MappedFile(const InputFile& file) : MappedFile(file, 0, file.size.count) {}
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  void* pages_ = nullptr;
  std::size_t mapped_ = 0;
  std::span<const std::byte> bytes_;
};

}  // namespace plimsoll
