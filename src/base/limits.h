// How much memory this process may have, and who says so.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace plimsoll {

struct MemoryLimit {
  Bytes left;         // what the whole process may hold, what it holds already included
  std::string named;  // "the machine's available memory", "the limit of cgroup /a/b (v2)"
};

// Every limit that applies: the machine, each control group up to the root, `ulimit -v` and `-d`.
// Never empty. `root` is where /proc is looked for and where mount points begin: "/" but for tests.
std::vector<MemoryLimit> memory_limits(const std::filesystem::path& root = "/");

// The one that binds.
MemoryLimit tightest_limit(const std::vector<MemoryLimit>& limits);

// The most that the innermost memory group ever held, page cache included; nothing where other
// processes share it or the system does not tell.
std::optional<std::int64_t> cgroup_peak(const std::filesystem::path& root = "/");

}  // namespace plimsoll
