#include "tests/support/failing_disk.h"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <stdexcept>

namespace {
std::atomic<ino_t> failing{0};  // 0: none

bool is_failing(int descriptor) {
  const ino_t inode = failing.load();
  struct stat status {};
  return inode != 0 && ::fstat(descriptor, &status) == 0 && status.st_ino == inode;
}
}  // namespace

namespace plimsoll {

FailingDisk::FailingDisk(const std::filesystem::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) throw std::runtime_error("no file to fail");
  failing = status.st_ino;
}

FailingDisk::~FailingDisk() { failing = 0; }

}  // namespace plimsoll

// The program's own comes before the C library's.
extern "C" ssize_t pread(int descriptor, void* buffer, std::size_t size, off_t offset) {
  if (is_failing(descriptor)) {
    errno = EIO;
    return -1;
  }
  return ::syscall(SYS_pread64, descriptor, buffer, size, offset);
}
