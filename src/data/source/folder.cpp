#include "data/source/folder.h"

#include <algorithm>
#include <span>
#include <system_error>

#include "base/error.h"
#include "base/files.h"

namespace plimsoll {

namespace fs = std::filesystem;

std::vector<FolderEntry> list_folder(const fs::path& folder) {
  std::vector<FolderEntry> found;
  std::error_code error;
  for (fs::directory_iterator at(folder, error); !error && at != fs::directory_iterator();
       at.increment(error)) {
    std::error_code ignored;
    found.push_back({.name = at->path().filename().string(),
                     .is_folder = at->is_directory(ignored),
                     .is_link = at->is_symlink(ignored)});
  }
  if (error) throw_file_error(folder, "cannot list the folder", error.value());
  std::ranges::sort(found, {}, &FolderEntry::name);
  return found;
}

std::string read_beginning(const fs::path& path, Bytes most) {
  try {
    const InputFile file = open_input(path);
    std::string text(static_cast<std::size_t>(std::min(file.size, most).count), '\0');
    file.read_at(0, std::as_writable_bytes(std::span(text)));
    return text;
  } catch (const DataError&) {
    return {};
  }
}

std::vector<FolderEntry> list_folder_if_any(const fs::path& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) return {};
  return list_folder(folder);
}

}  // namespace plimsoll
