// What lies in a folder.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace plimsoll {

struct FolderEntry {
  std::string name;
  bool is_folder = false;  // itself, or what the link leads to
  bool is_link = false;
};

// By name, in the order of their bytes. DataError if the folder cannot be listed to its end.
std::vector<FolderEntry> list_folder(const std::filesystem::path& folder);

// The first bytes of a file, to tell what it is; empty if it cannot be read.
std::string read_beginning(const std::filesystem::path& path, Bytes most);

// As list_folder; nothing if it is no folder.
std::vector<FolderEntry> list_folder_if_any(const std::filesystem::path& folder);

}  // namespace plimsoll
