#include "base/mapped_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

namespace plimsoll {

MappedFile::MappedFile(const InputFile& file, std::int64_t offset, std::int64_t size) {
  if (size == 0) return;
  const std::int64_t before = offset % ::sysconf(_SC_PAGESIZE);
  mapped_ = static_cast<std::size_t>(before + size);
  pages_ =
      ::mmap(nullptr, mapped_, PROT_READ, MAP_PRIVATE, file.handle.descriptor(), offset - before);
  if (pages_ == MAP_FAILED) throw_file_error(file.path, "mapping it", errno);
  bytes_ =
      std::span(static_cast<const std::byte*>(pages_) + before, static_cast<std::size_t>(size));
}

MappedFile::~MappedFile() {
  if (mapped_ > 0) ::munmap(pages_, mapped_);
}

}  // namespace plimsoll
