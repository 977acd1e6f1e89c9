#include "base/cgroup.h"

#include <algorithm>
#include <optional>
#include <string>

#include "base/files.h"
#include "base/text.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

bool contains(const std::vector<std::string_view>& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

// This process's group in the hierarchy: a line "5:cpu,cpuacct:/path" of /proc/self/cgroup for v1,
// "0::/path" for v2.
std::optional<std::string> group_path(std::string_view groups, std::string_view controller,
                                      int version) {
  for (const std::string_view line : split(groups, '\n')) {
    const std::size_t first = line.find(':');
    if (first == std::string_view::npos) continue;
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const bool matches =
        version == 2 ? controllers.empty() : contains(split(controllers, ','), controller);
    if (matches) return std::string(line.substr(second + 1));
  }
  return std::nullopt;
}

// `path` as seen below `mount_root`, the part of the hierarchy that is mounted. A container often
// sees its own group as the mount's root while /proc shows the outer path.
std::string below(const std::string& path, std::string_view mount_root) {
  if (mount_root == "/") return path;
  if (path == mount_root) return "/";
  if (path.starts_with(std::string(mount_root) + "/")) return path.substr(mount_root.size());
  return "/";
}

}  // namespace

std::vector<CgroupLevel> cgroup_levels(std::string_view controller, const fs::path& root) {
  const std::string groups = read_system_file(root / "proc/self/cgroup");
  const std::string mounts = read_system_file(root / "proc/self/mountinfo");
  std::vector<CgroupLevel> result;
  for (const std::string_view line : split(mounts, '\n')) {
    // "36 35 0:30 /root /mount/point rw,relatime shared:1 - cgroup cgroup rw,cpu"
    const std::vector<std::string_view> words = split(line, ' ');
    const auto dash = std::ranges::find(words, "-");
    if (words.size() < 5 || words.end() - dash < 4) continue;
    const std::string_view type = dash[1];
    if (type != "cgroup" && type != "cgroup2") continue;
    const int version = type == "cgroup2" ? 2 : 1;
    if (version == 1 && !contains(split(dash[3], ','), controller)) continue;
    const std::optional<std::string> group = group_path(groups, controller, version);
    if (!group) continue;
    const fs::path mount = root / fs::path(words[4]).relative_path();
    for (const std::string& level : levels(below(*group, words[3])))
      result.push_back({.folder = level == "/" ? mount : mount / fs::path(level).relative_path(),
                        .version = version});
  }
  return result;
}

}  // namespace plimsoll
