#include "base/file_lock.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>

namespace plimsoll {
namespace {

// The whole file. Locks of the open file description: unlike a process's own, they are not lost
// when some other part of the process opens and closes the same file.
struct flock whole_file() {
  struct flock range {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  return range;
}

}  // namespace

std::optional<FileLock> FileLock::take(const std::filesystem::path& path) {
  FileHandle handle(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!handle.is_open()) throw_file_error(path, "cannot create", errno);
  struct flock range = whole_file();
  if (::fcntl(handle.descriptor(), F_OFD_SETLK, &range) != 0) {
    if (errno == EAGAIN || errno == EACCES) return std::nullopt;
    throw_file_error(path, "cannot lock", errno);
  }
  const std::string number = std::to_string(::getpid()) + "\n";
  if (::ftruncate(handle.descriptor(), 0) != 0 ||
      ::pwrite(handle.descriptor(), number.data(), number.size(), 0) !=
          static_cast<ssize_t>(number.size()))
    throw_file_error(path, "cannot write", errno);
  return FileLock(std::move(handle));
}

std::optional<long> find_lock_holder(const std::filesystem::path& path) {
  const FileHandle handle(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!handle.is_open()) return std::nullopt;
  struct flock range = whole_file();
  range.l_type = F_RDLCK;  // a read-only descriptor may ask for no more; a writer is in its way
  if (::fcntl(handle.descriptor(), F_OFD_GETLK, &range) != 0 || range.l_type == F_UNLCK)
    return std::nullopt;
  return std::strtol(read_system_file(path).c_str(), nullptr, 10);
}

}  // namespace plimsoll
