// A disk that fails: reads of one file return EIO, below everything that is done about it.
#pragma once

#include <filesystem>

namespace plimsoll {

// Reads of `path`, by whatever name it is opened, fail until the object goes. One at a time.
class FailingDisk {
 public:
  explicit FailingDisk(const std::filesystem::path& path);
  FailingDisk(const FailingDisk&) = delete;
  FailingDisk& operator=(const FailingDisk&) = delete;
  ~FailingDisk();
};

}  // namespace plimsoll
