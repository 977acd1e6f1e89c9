// A container for a program: the kernel as judge.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/sanitized.h"

namespace plimsoll {

// A memory control group of its own; where none can be made, works without and says so. A
// sanitizer's own memory is in no budget, so there is none with one.
class MemoryGroup {
 public:
  explicit MemoryGroup(std::int64_t bytes) {
    if (kSanitized) return;
    // The kernel counts pages, and would round down.
    constexpr std::int64_t kPage = 4096;
    const std::int64_t limit = (bytes + kPage - 1) / kPage * kPage;
    for (const char* root : {"/sys/fs/cgroup/memory", "/sys/fs/cgroup"}) {
      const std::filesystem::path folder =
          std::filesystem::path(root) / ("plimsoll-test-" + std::to_string(getpid()));
      std::error_code error;
      if (!std::filesystem::create_directory(folder, error)) continue;
      const bool v1 = std::filesystem::exists(folder / "memory.limit_in_bytes");
      std::ofstream(folder / (v1 ? "memory.limit_in_bytes" : "memory.max")) << limit << std::flush;
      std::ofstream(folder / (v1 ? "memory.memsw.limit_in_bytes" : "memory.swap.max"))
          << (v1 ? limit : 0) << std::flush;
      limit_ = folder / (v1 ? "memory.limit_in_bytes" : "memory.max");
      std::string set;
      std::ifstream(limit_) >> set;
      if (set.find_first_of("0123456789") == 0) {
        folder_ = folder;
        return;
      }
      std::filesystem::remove(folder, error);
    }
  }
  ~MemoryGroup() {
    std::error_code ignored;
    if (!folder_.empty()) std::filesystem::remove(folder_, ignored);
  }
  bool exists() const { return !folder_.empty(); }
  void set_limit(std::int64_t limit) const { std::ofstream(limit_) << limit << std::flush; }
  std::string enter() const {
    return exists() ? "echo $$ > " + (folder_ / "cgroup.procs").string() + " && exec " : "";
  }

 private:
  std::filesystem::path folder_;
  std::filesystem::path limit_;
};

}  // namespace plimsoll
