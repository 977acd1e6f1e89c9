// Where the limits of this process's container are written.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

namespace plimsoll {

// One control group that this process is in.
struct CgroupLevel {
  std::filesystem::path folder;
  int version;  // 1 or 2: the names and formats of the files differ
};

// The groups that may limit `controller` ("cpu", "memory"), innermost first, up to the root that is
// visible from here; v1 and v2 hierarchies both. Empty where there are none. `root` is where /proc
// is looked for and where mount points begin: "/" but for tests. Never throws for what it reads.
std::vector<CgroupLevel> cgroup_levels(std::string_view controller,
                                       const std::filesystem::path& root = "/");

}  // namespace plimsoll
