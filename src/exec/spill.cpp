#include "exec/spill.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/bytes.h"

namespace plimsoll {
namespace {

constexpr std::int64_t kPiece = std::int64_t{1} << 20;

[[noreturn]] void refuse(const std::filesystem::path& directory, const std::string& got,
                         const std::string& expected, const std::string& hint = {}) {
  throw DataError(
      {.where = "--spill " + directory.string(), .got = got, .expected = expected, .hint = hint});
}

// A file in `directory` that no name leads to.
int open_nameless(const std::filesystem::path& directory) {
  const int file = open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)) return file;
  std::string name = (directory / "plimsoll-spill-XXXXXX").string();
  const int named = mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) unlink(name.c_str());
  return named;
}

}  // namespace

SpillFile::SpillFile(const std::filesystem::path& directory, std::int64_t bytes) {
  file_ = open_nameless(directory);
  if (file_ < 0)
    refuse(directory, std::strerror(errno), "expected a directory that files can be made in");
  const int error = bytes > 0 ? posix_fallocate(file_, 0, bytes) : 0;
  if (error != 0) {
    struct statvfs space {};
    const bool known = fstatvfs(file_, &space) == 0;
    close(file_);
    refuse(directory,
           std::string(std::strerror(error)) +
               (known ? ", " +
                            to_string(
                                Bytes{static_cast<std::int64_t>(space.f_bavail * space.f_frsize)}) +
                            " are free"
                      : ""),
           "expected room for " + to_string(Bytes{bytes}),
           "name a directory on another disk, or give more --memory");
  }
}

SpillFile::~SpillFile() { close(file_); }

int SpillFile::write(const std::byte* data, std::int64_t bytes,
                     std::int64_t offset) const noexcept {
  const std::int64_t begin = offset;
  const std::int64_t end = offset + bytes;
  while (offset < end) {
    const auto wanted = static_cast<std::size_t>(std::min(kPiece, end - offset));
    const ssize_t written = pwrite(file_, data, wanted, offset);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return written < 0 ? errno : EIO;
    data += written;
    offset += written;
  }
  // Cached pages count against a container: hand them to the disk and forget them.
  sync_file_range(file_, begin, bytes,
                  SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WAIT_AFTER);
  posix_fadvise(file_, begin, bytes, POSIX_FADV_DONTNEED);
  return 0;
}

int SpillFile::read(std::byte* data, std::int64_t bytes, std::int64_t offset) const noexcept {
  const std::int64_t begin = offset;
  const std::int64_t end = offset + bytes;
  while (offset < end) {
    const auto wanted = static_cast<std::size_t>(std::min(kPiece, end - offset));
    const ssize_t got = pread(file_, data, wanted, offset);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return got < 0 ? errno : EIO;
    data += got;
    offset += got;
  }
  posix_fadvise(file_, begin, bytes, POSIX_FADV_DONTNEED);
  return 0;
}

SpillCarrier::SpillCarrier(SpillFile& file) : file_(file), thread_([this] { carry(); }) {}

SpillCarrier::~SpillCarrier() {
  {
    const std::scoped_lock lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void SpillCarrier::begin_step(std::span<const Transfer> transfers, std::byte* arena) noexcept {
  {
    const std::scoped_lock lock(mutex_);
    transfers_ = transfers;
    arena_ = arena;
    instructions_done_ = 0;
    complete_ = 0;
  }
  changed_.notify_all();
}

void SpillCarrier::advance(std::int32_t done) noexcept {
  {
    const std::scoped_lock lock(mutex_);
    instructions_done_ = done;
  }
  changed_.notify_all();
}

void SpillCarrier::wait_for(std::size_t count) noexcept {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return complete_ >= count; });
}

void SpillCarrier::end_step() noexcept {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return complete_ >= transfers_.size(); });
  transfers_ = {};
  complete_ = 0;
}

int SpillCarrier::take_error() noexcept {
  const std::scoped_lock lock(mutex_);
  return std::exchange(error_, 0);
}

void SpillCarrier::carry() noexcept {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] {
      return stop_ ||
             (complete_ < transfers_.size() && transfers_[complete_].begin <= instructions_done_);
    });
    if (stop_) return;
    const Transfer transfer = transfers_[complete_];
    std::byte* data = arena_ + transfer.offset;
    lock.unlock();
    const int error = transfer.store ? file_.write(data, transfer.bytes, transfer.file_offset)
                                     : file_.read(data, transfer.bytes, transfer.file_offset);
    lock.lock();
    if (error_ == 0) error_ = error;
    ++complete_;
    changed_.notify_all();
  }
}

}  // namespace plimsoll
