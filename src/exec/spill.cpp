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

[[noreturn]] void refuse(const std::filesystem::path& directory, const std::string& got,
                         const std::string& expected, const std::string& hint = {}) {
  throw DataError(
      {.where = "--spill " + directory.string(), .got = got, .expected = expected, .hint = hint});
}

}  // namespace

SpillFile::SpillFile(const std::filesystem::path& directory, std::int64_t bytes)
    : NamelessFile(directory) {
  if (!is_open())
    refuse(directory, std::strerror(errno), "expected a directory that files can be made in");
  const int error = bytes > 0 ? posix_fallocate(descriptor(), 0, bytes) : 0;
  if (error != 0) {
    struct statvfs space {};
    const bool known = fstatvfs(descriptor(), &space) == 0;
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
