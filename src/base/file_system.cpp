#include "base/file_system.h"

#include <linux/magic.h>
#include <sys/vfs.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/text.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

fs::path nearest_existing(const fs::path& folder) {
  std::error_code error;
  fs::path path = fs::absolute(folder, error);
  while (!fs::exists(path, error) && path.has_relative_path()) path = path.parent_path();
  return fs::weakly_canonical(path, error);
}

std::string name_in_memory(const fs::path& path) {
  struct statfs status {};
  if (::statfs(path.c_str(), &status) != 0) return {};
  switch (static_cast<unsigned long>(status.f_type)) {
    case TMPFS_MAGIC: return "tmpfs";
    case RAMFS_MAGIC: return "ramfs";
    case HUGETLBFS_MAGIC: return "hugetlbfs";
    default: return {};
  }
}

bool is_overlay(const fs::path& path) {
  struct statfs status {};
  return ::statfs(path.c_str(), &status) == 0 &&
         static_cast<unsigned long>(status.f_type) == OVERLAYFS_SUPER_MAGIC;
}

// Where the overlay at `path` writes, as its mount says; empty if it does not.
fs::path upper_layer(const fs::path& path) {
  const std::string mounts = read_system_file("/proc/self/mountinfo");
  fs::path upper;
  std::size_t longest = 0;
  for (const std::string_view line : split(mounts, '\n')) {
    // "36 35 0:30 / /mount/point rw,relatime shared:1 - overlay overlay rw,upperdir=/a,workdir=/b"
    const std::vector<std::string_view> words = split(line, ' ');
    const auto dash = std::ranges::find(words, "-");
    if (words.size() < 5 || words.end() - dash < 4) continue;
    const std::string mount(words[4]);
    const std::string below = mount == "/" ? mount : mount + "/";
    if (path.string() != mount && !path.string().starts_with(below)) continue;
    if (mount.size() < longest) continue;
    longest = mount.size();
    upper.clear();
    if (dash[1] != "overlay") continue;
    for (const std::string_view option : split(dash[3], ','))
      if (option.starts_with("upperdir=")) upper = option.substr(option.find('=') + 1);
  }
  return upper;
}

}  // namespace

std::string memory_file_system(const fs::path& folder) {
  const fs::path path = nearest_existing(folder);
  if (!is_overlay(path)) return name_in_memory(path);
  // A container may not see its own layers; then it cannot be told.
  const fs::path upper = upper_layer(path);
  const std::string name = upper.empty() ? "" : name_in_memory(upper);
  return name.empty() ? "" : "an overlay over " + name;
}

}  // namespace plimsoll
