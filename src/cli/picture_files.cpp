#include "cli/picture_files.h"

#include <glob.h>

#include <algorithm>
#include <memory>

#include "data/source/file_source.h"

namespace plimsoll::cli {
namespace {

namespace fs = std::filesystem;

struct NamedFile {
  std::string path;
  std::size_t name_begin = 0;
};

NamedFile named_itself(std::string path) {
  const std::size_t slash = path.rfind('/');
  return {std::move(path), slash == std::string::npos ? 0 : slash + 1};
}

bool is_picture(const fs::path& path) {
  std::string ending = path.extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const std::vector<std::string> known{".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif"};
  return std::find(known.begin(), known.end(), ending) != known.end();
}

void add_folder(const std::string& folder, std::vector<NamedFile>& files) {
  std::vector<std::string> found;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file() && is_picture(entry.path())) found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  const std::size_t begin = folder.size() + (folder.ends_with('/') ? 0 : 1);
  for (std::string& path : found) files.push_back({std::move(path), begin});
}

std::vector<NamedFile> list_files(const std::vector<std::string>& words) {
  std::vector<NamedFile> files;
  for (const std::string& word : words) {
    std::error_code error;
    if (fs::is_directory(word, error)) {
      add_folder(word, files);
    } else if (fs::exists(word, error) || word.find_first_of("*?[") == std::string::npos) {
      files.push_back(named_itself(word));
    } else {
      glob_t matches{};
      if (::glob(word.c_str(), 0, nullptr, &matches) == 0)
        for (std::size_t i = 0; i < matches.gl_pathc; ++i)
          files.push_back(named_itself(matches.gl_pathv[i]));
      else
        files.push_back(named_itself(word));  // told of as a file that is not there
      ::globfree(&matches);
    }
  }
  return files;
}

}  // namespace

fs::path PictureFiles::relative(std::int64_t number, const std::string& path) const {
  return path.substr(name_begins[static_cast<std::size_t>(number)]);
}

PictureFiles list_pictures(const std::vector<std::string>& words) {
  PictureFiles listed;
  const auto source = std::make_shared<FileSource>("files", "");
  for (const auto& [path, name_begin] : list_files(words)) {
    std::error_code error;
    const auto size = fs::file_size(path, error);
    if (error) {
      listed.missing.push_back(
          {.where = path, .got = error.message(), .expected = "expected a picture"});
      continue;
    }
    source->add(path, Bytes{static_cast<std::int64_t>(size)}, 0);
    listed.name_begins.push_back(static_cast<std::uint32_t>(name_begin));
  }
  source->finish({"any"});
  listed.source = source;
  return listed;
}

}  // namespace plimsoll::cli
