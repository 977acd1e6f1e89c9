#include "base/memory_usage.h"

#include <malloc.h>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <system_error>

#include "base/error.h"
#include "base/files.h"

namespace plimsoll {
namespace {

constexpr const char* kStatus = "/proc/self/status";

// A line "VmHWM:\t   12345 kB"; the unit is always kB, and means KiB.
Bytes field(std::string_view status, std::string_view name) {
  std::size_t at = status.find(name);
  if (at != std::string_view::npos) at = status.find_first_of("0123456789", at + name.size());
  std::int64_t kib = 0;
  if (at == std::string_view::npos ||
      std::from_chars(status.data() + at, status.data() + status.size(), kib).ec != std::errc())
    throw DataError({.where = kStatus,
                     .got = "there is no number for " + std::string(name),
                     .expected = "expected a line such as 'VmRSS: 1234 kB'"});
  return Bytes{kib} * 1024;
}

}  // namespace

MemoryUsage parse_memory_usage(std::string_view status) {
  return {.high_water = field(status, "VmHWM:"),
          .resident = field(status, "VmRSS:"),
          .page_tables = field(status, "VmPTE:")};
}

MemoryUsage memory_usage() {
  const FileHandle handle(::open(kStatus, O_RDONLY | O_CLOEXEC));
  if (!handle.is_open())
    throw DataError({.where = kStatus,
                     .got = "cannot open: " + std::generic_category().message(errno),
                     .expected = "expected the proc file system: memory is measured by it",
                     .hint = "mount -t proc proc /proc"});
  char text[8192];
  std::size_t size = 0;
  while (size < sizeof text) {
    const ssize_t got = ::read(handle.descriptor(), text + size, sizeof text - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_file_error(kStatus, "cannot read", errno);
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  return parse_memory_usage({text, size});
}

void release_free_memory() { ::malloc_trim(0); }

}  // namespace plimsoll
