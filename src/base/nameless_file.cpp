#include "base/nameless_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>

namespace plimsoll {
namespace {

constexpr std::int64_t kPiece = std::int64_t{1} << 20;

int open_nameless(const std::filesystem::path& directory) {
  const int file = open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return file;
  std::string name = (directory / "plimsoll-spill-XXXXXX").string();
  const int named = mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) unlink(name.c_str());
  return named;
}

}  // namespace

NamelessFile::NamelessFile(const std::filesystem::path& directory)
    : handle_(open_nameless(directory)) {}

int NamelessFile::write(const std::byte* data, std::int64_t bytes,
                        std::int64_t offset) const noexcept {
  const std::int64_t begin = offset;
  const std::int64_t end = offset + bytes;
  while (offset < end) {
    const auto wanted = static_cast<std::size_t>(std::min(kPiece, end - offset));
    const ssize_t written = pwrite(descriptor(), data, wanted, offset);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return written < 0 ? errno : EIO;
    data += written;
    offset += written;
  }
  sync_file_range(descriptor(), begin, bytes,
                  SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WAIT_AFTER);
  posix_fadvise(descriptor(), begin, bytes, POSIX_FADV_DONTNEED);
  return 0;
}

int NamelessFile::read(std::byte* data, std::int64_t bytes, std::int64_t offset) const noexcept {
  const std::int64_t begin = offset;
  const std::int64_t end = offset + bytes;
  while (offset < end) {
    const auto wanted = static_cast<std::size_t>(std::min(kPiece, end - offset));
    const ssize_t got = pread(descriptor(), data, wanted, offset);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got < 0 ? errno : EIO;
    data += got;
    offset += got;
  }
  posix_fadvise(descriptor(), begin, bytes, POSIX_FADV_DONTNEED);
  return 0;
}

}  // namespace plimsoll
