// A folder or file that one process at a time may use.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/files.h"

namespace plimsoll {

// Held from take() until the object goes or the process ends, however it ends. The file stays
// behind: it names the last holder. Movable; thread-compatible.
class FileLock {
 public:
  // Creates the file if needed and writes this process's number into it. Nothing if another process
  // holds it. DataError if the file cannot be made.
  static std::optional<FileLock> take(const std::filesystem::path& path);

 private:
  explicit FileLock(FileHandle handle) : handle_(std::move(handle)) {}
  FileHandle handle_;
};

// The process that holds the lock, as the file names it (0: it does not say); nothing if it is
// free. Only asks: never takes the lock, never makes the file.
std::optional<long> find_lock_holder(const std::filesystem::path& path);

}  // namespace plimsoll
