// Files, with failures as DataErrors that name the path and what the system said.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"

namespace plimsoll {

// A DataError for `path`: "<doing>: <text of error_number>". Disk-full errors carry a hint.
[[noreturn]] void throw_file_error(const std::filesystem::path& path, std::string_view doing,
                                   int error_number);

// An open file descriptor that closes itself. Movable; thread-compatible.
class FileHandle {
 public:
  FileHandle() = default;
  explicit FileHandle(int descriptor) : descriptor_(descriptor) {}
  FileHandle(FileHandle&& other) noexcept;
  FileHandle& operator=(FileHandle&& other) noexcept;
  ~FileHandle();

  int descriptor() const { return descriptor_; }
  bool is_open() const { return descriptor_ >= 0; }
  void close();
  // Gives up ownership.
  int release();

 private:
  int descriptor_ = -1;
};

// An existing regular file, opened for reading, with its size. Directories, pipes and devices are
// refused: a pipe would block and a device has no size to check against.
struct InputFile {
  std::filesystem::path path;
  FileHandle handle;
  Bytes size;

  // Fills `out` with the bytes at `offset`; a file that ends before is a DataError.
  void read_at(std::int64_t offset, std::span<std::byte> out) const;
};
InputFile open_input(const std::filesystem::path& path);

// The whole of a file. DataError if it is larger than `limit`; nothing is allocated then.
std::string read_file(const std::filesystem::path& path, Bytes limit);

// The whole of a file that has no size before it is read, as those under /proc and /sys.
// Empty if it cannot be opened.
std::string read_system_file(const std::filesystem::path& path);

// A file that appears under its name complete or not at all, whatever kills the process.
// Bytes go to "<path>.tmp" beside it; commit() syncs, renames and syncs the folder. Without
// commit() the destructor removes the temporary file. One that a killed process left behind is
// taken over by the next writer; a second live writer of the same path gets a DataError.
// Not buffered: write in pieces of some 64 KiB or more. Thread-compatible.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text);
  void commit();

  // Where the bytes are until commit(); for those who want to look before.
  const std::filesystem::path& temporary() const { return temporary_; }

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  FileHandle handle_;
};

// AtomicFile for content that is in memory.
void write_file(const std::filesystem::path& path, std::string_view text);

// Replaces a file in one go, for readers beside us; what a power cut leaves is not promised.
void replace_file(const std::filesystem::path& path, std::string_view text);

// Adds to the end of a file, which is made if it is not there.
void append_file(const std::filesystem::path& path, std::string_view text);

// Creates the folder and those above it; no error if it exists.
void make_directories(const std::filesystem::path& path);

// Creates and returns <parent>/<name>, or the first free of <name>2, <name>3, ... Two processes
// that ask at the same time get different folders.
std::filesystem::path make_unique_directory(const std::filesystem::path& parent,
                                            const std::string& name);

}  // namespace plimsoll
