// What a folder's files cost beside the disk.
#pragma once

#include <filesystem>
#include <string>

namespace plimsoll {

// The name of the file system ("tmpfs") where a file in `folder` would be memory that is charged to
// whoever writes it: tmpfs, ramfs, hugetlbfs, and an overlay whose upper layer is seen to lie on
// one. Empty where files are on a disk, or it cannot be told. A folder that does not exist is where
// its nearest parent is.
std::string memory_file_system(const std::filesystem::path& folder);

}  // namespace plimsoll
