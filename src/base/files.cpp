#include "base/files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "base/error.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

int open_retrying(const fs::path& path, int flags, mode_t mode = 0) {
  while (true) {
    const int descriptor = ::open(path.c_str(), flags | O_CLOEXEC, mode);
    if (descriptor >= 0 || errno != EINTR) return descriptor;
  }
}

void sync_folder_of(const fs::path& path) {
  const fs::path parent = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const FileHandle folder(open_retrying(parent, O_RDONLY | O_DIRECTORY));
  if (!folder.is_open()) throw_file_error(parent, "cannot open the folder", errno);
  // Some network file systems cannot sync a folder; the rename is as durable as it gets there.
  if (::fsync(folder.descriptor()) != 0 && errno != EINVAL)
    throw_file_error(parent, "cannot sync the folder", errno);
}

bool is_same_file(int descriptor, const fs::path& path) {
  struct stat opened {};
  struct stat named {};
  return ::fstat(descriptor, &opened) == 0 && ::stat(path.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

// Opens and locks the temporary file. The lock dies with its holder, so what a killed process left
// is free to take; the loop is for the holder who renames between our open and our lock.
FileHandle open_temporary(const fs::path& path) {
  while (true) {
    FileHandle handle(open_retrying(path, O_WRONLY | O_CREAT | O_NOFOLLOW, 0666));
    if (!handle.is_open()) throw_file_error(path, "cannot create", errno);
    if (::flock(handle.descriptor(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK)
        throw DataError({.where = path.string(),
                         .got = "another process is writing this file",
                         .expected = "expected to be the only writer",
                         .hint = "give each run its own folder"});
      throw_file_error(path, "cannot lock", errno);
    }
    if (!is_same_file(handle.descriptor(), path)) continue;
    if (::ftruncate(handle.descriptor(), 0) != 0) throw_file_error(path, "cannot empty", errno);
    return handle;
  }
}

void write_all(const FileHandle& handle, const fs::path& path, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(handle.descriptor(), bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) throw_file_error(path, "cannot write", errno);
    bytes = bytes.subspan(static_cast<std::size_t>(put));
  }
}

struct Expectation {
  const char* expected = "";
  const char* hint = "";
};

Expectation expectation(int error_number) {
  switch (error_number) {
    case ENOSPC:
    case EDQUOT:
      return {"expected room for it", "free some space, or choose another folder with --out"};
    case EFBIG:
      return {"expected room for it", "`ulimit -f`, or the file system, allows no larger files"};
    case ENOENT: return {"expected a path that exists, or one where it can be made"};
    case EACCES:
    case EPERM:
    case EROFS: return {"expected the permission for it"};
    case ENOTDIR: return {"expected a folder"};
    case EMFILE:
    case ENFILE: return {"expected to be allowed one more open file", "see `ulimit -n`"};
    default: return {"expected the system to do it"};
  }
}

}  // namespace

void throw_file_error(const fs::path& path, std::string_view doing, int error_number) {
  const auto [expected, hint] = expectation(error_number);
  throw DataError({.where = path.string(),
                   .got = std::string(doing) + ": " + std::generic_category().message(error_number),
                   .expected = expected,
                   .hint = hint});
}

FileHandle::FileHandle(FileHandle&& other) noexcept : descriptor_(other.release()) {}

FileHandle& FileHandle::operator=(FileHandle&& other) noexcept {
  if (this != &other) {
    close();
    descriptor_ = other.release();
  }
  return *this;
}

FileHandle::~FileHandle() { close(); }

void FileHandle::close() {
  if (is_open()) ::close(release());
}

int FileHandle::release() { return std::exchange(descriptor_, -1); }

void InputFile::read_at(std::int64_t offset, std::span<std::byte> out) const {
  while (!out.empty()) {
    const ssize_t got = ::pread(handle.descriptor(), out.data(), out.size(), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_file_error(path, "cannot read byte " + std::to_string(offset), errno);
    if (got == 0)
      throw DataError({.where = path.string(),
                       .got = "the file ends at byte " + std::to_string(offset),
                       .expected = "expected " + std::to_string(out.size()) + " more bytes",
                       .hint = "it shrank while it was read"});
    out = out.subspan(static_cast<std::size_t>(got));
    offset += got;
  }
}

InputFile open_input(const fs::path& path) {
  // Non-blocking, so that opening a pipe nobody writes to returns and can be refused.
  FileHandle handle(open_retrying(path, O_RDONLY | O_NONBLOCK));
  if (!handle.is_open()) throw_file_error(path, "cannot open", errno);
  struct stat status {};
  if (::fstat(handle.descriptor(), &status) != 0) throw_file_error(path, "cannot stat", errno);
  if (!S_ISREG(status.st_mode))
    throw DataError({.where = path.string(),
                     .got = S_ISDIR(status.st_mode) ? "is a folder" : "is not a regular file",
                     .expected = "expected a file"});
  return {.path = path, .handle = std::move(handle), .size = Bytes{status.st_size}};
}

std::string read_file(const fs::path& path, Bytes limit) {
  const InputFile file = open_input(path);
  if (file.size > limit)
    throw DataError({.where = path.string(),
                     .got = "the file has " + to_string(file.size),
                     .expected = "expected at most " + to_string(limit)});
  std::string text(static_cast<std::size_t>(file.size.count), '\0');
  file.read_at(0, std::as_writable_bytes(std::span(text)));
  return text;
}

std::string read_system_file(const fs::path& path) {
  const FileHandle handle(open_retrying(path, O_RDONLY));
  std::string text;
  char piece[4096];
  while (handle.is_open()) {
    const ssize_t got = ::read(handle.descriptor(), piece, sizeof piece);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(piece, static_cast<std::size_t>(got));
  }
  return text;
}

AtomicFile::AtomicFile(fs::path path)
    : path_(std::move(path)),
      temporary_(fs::path(path_) += ".tmp"),
      handle_(open_temporary(temporary_)) {}

AtomicFile::~AtomicFile() {
  if (handle_.is_open()) ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  expect(handle_.is_open(), "write to a file that was committed");
  write_all(handle_, path_, bytes);
}

void AtomicFile::write(std::string_view text) { write(std::as_bytes(std::span(text))); }

void AtomicFile::commit() {
  expect(handle_.is_open(), "a file is committed once");
  if (::fsync(handle_.descriptor()) != 0) throw_file_error(path_, "cannot sync", errno);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0)
    throw_file_error(path_, "cannot rename the temporary file", errno);
  handle_.close();
  sync_folder_of(path_);
}

void write_file(const fs::path& path, std::string_view text) {
  AtomicFile file(path);
  file.write(text);
  file.commit();
}

void replace_file(const fs::path& path, std::string_view text) {
  const fs::path temporary = fs::path(path) += ".tmp";
  {
    const FileHandle handle(open_retrying(temporary, O_WRONLY | O_CREAT | O_TRUNC, 0666));
    if (!handle.is_open()) throw_file_error(temporary, "cannot create", errno);
    write_all(handle, temporary, std::as_bytes(std::span(text)));
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0)
    throw_file_error(path, "cannot rename the temporary file", errno);
}

void append_file(const fs::path& path, std::string_view text) {
  const FileHandle handle(open_retrying(path, O_WRONLY | O_CREAT | O_APPEND, 0666));
  if (!handle.is_open()) throw_file_error(path, "cannot open", errno);
  write_all(handle, path, std::as_bytes(std::span(text)));
}

void make_directories(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) throw_file_error(path, "cannot create the folder", error.value());
  if (!fs::is_directory(path, error)) throw_file_error(path, "cannot create the folder", ENOTDIR);
}

fs::path make_unique_directory(const fs::path& parent, const std::string& name) {
  make_directories(parent);
  for (int number = 1;; ++number) {
    fs::path path = parent / (number == 1 ? name : name + std::to_string(number));
    if (::mkdir(path.c_str(), 0777) == 0) return path;
    if (errno != EEXIST) throw_file_error(path, "cannot create the folder", errno);
  }
}

}  // namespace plimsoll
