#include "data/class_folders.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/text.h"
#include "data/file_source.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 7> kKerasEndings = {"png", "jpg", "jpeg", "bmp",
                                                           "ppm", "tif", "tiff"};
constexpr std::array<std::string_view, 2> kOtherEndings = {"webp", "gif"};

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

bool ends_with_any(std::string_view name, std::span<const std::string_view> endings) {
  const std::string small = lower(name);
  return std::ranges::any_of(endings, [&](std::string_view end) { return small.ends_with(end); });
}

struct File {
  std::string name;
  Bytes size;
};

struct Folder {
  std::vector<std::string> folders;  // links to folders left out
  std::vector<File> files;
};

// The entries of a folder, in no order. Anything that is not a folder counts as a file: a dangling
// link with an image's name is a sample that cannot be read, not one that is not there.
Folder list(const fs::path& path) {
  std::error_code error;
  fs::directory_iterator entries(path, error);
  if (error) throw_file_error(path, "cannot list the folder", error.value());
  Folder result;
  for (; entries != fs::directory_iterator(); entries.increment(error)) {
    if (error) throw_file_error(path, "cannot list the folder", error.value());
    const fs::directory_entry& entry = *entries;
    std::error_code ignored;
    if (entry.is_directory(ignored)) {
      if (!entry.is_symlink(ignored)) result.folders.push_back(entry.path().filename());
      continue;
    }
    const std::uintmax_t size = entry.file_size(ignored);
    result.files.push_back({.name = entry.path().filename(),
                            .size = Bytes{ignored ? 0 : static_cast<std::int64_t>(size)}});
  }
  return result;
}

std::vector<std::string> list_classes(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    std::error_code ignored;
    if (entry.is_directory(ignored)) names.push_back(entry.path().filename());
  }
  if (error) throw_file_error(folder, "cannot list the folder", error.value());
  std::ranges::sort(names);
  return names;
}

// "a", "a/b", ... of all folders below `top`, itself first, sorted as Keras sorts what os.walk
// gives: as whole paths.
std::vector<std::string> walk(const fs::path& root, const std::string& top) {
  std::vector<std::string> found{top};
  for (std::size_t i = 0; i < found.size(); ++i)
    for (const std::string& name : list(root / found[i]).folders)
      found.push_back(found[i] + "/" + name);
  std::ranges::sort(found);
  return found;
}

class Lister {
 public:
  Lister(fs::path root, std::span<const std::string_view> endings)
      : root_(std::move(root)),
        endings_(endings),
        source_(std::make_shared<FileSource>("a folder per class", root_)) {}

  void add_class(const std::string& name, std::int32_t label) {
    for (const std::string& folder : walk(root_, name)) {
      Folder content = list(root_ / folder);
      std::ranges::sort(content.files, {}, &File::name);
      for (const File& file : content.files)
        if (ends_with_any(file.name, endings_))
          source_->add(folder + "/" + file.name, file.size, label);
        else
          ++passed_over_[lower(fs::path(file.name).extension().string())];
    }
  }

  SourcePtr finish(std::vector<std::string> class_names) {
    for (const auto& [ending, count] : passed_over_)
      source_->add_note(std::to_string(count) + (count == 1 ? " file" : " files") +
                        (ending.empty() ? " without an extension" : " named *" + ending) +
                        " passed over");
    source_->finish(std::move(class_names));
    return source_;
  }

 private:
  fs::path root_;
  std::span<const std::string_view> endings_;
  std::shared_ptr<FileSource> source_;
  std::map<std::string, std::int64_t> passed_over_;
};

SourcePtr list_with(const fs::path& folder, const std::vector<std::string>& present,
                    const std::vector<std::string>& names,
                    std::span<const std::string_view> endings) {
  Lister lister(folder, endings);
  for (std::size_t label = 0; label < names.size(); ++label)
    if (std::ranges::binary_search(present, names[label]))
      lister.add_class(names[label], static_cast<std::int32_t>(label));
  return lister.finish(names);
}

}  // namespace

SourcePtr open_class_folders(const fs::path& folder, const SourceOptions& options) {
  const std::vector<std::string> present = list_classes(folder);
  if (present.empty())
    throw DataError({.where = folder.string(),
                     .got = "there is no folder in it",
                     .expected = "expected a sub-folder of images for each class"});
  if (!options.class_names.empty())
    for (const std::string& name : present)
      if (std::ranges::find(options.class_names, name) == options.class_names.end())
        throw DataError({.where = (folder / name).string(),
                         .got = "the training data has no class '" + name + "'",
                         .expected = "expected a folder named like one of its " +
                                     std::to_string(options.class_names.size()) + " classes",
                         .hint = did_you_mean(nearest(name, options.class_names))});
  const std::vector<std::string>& names =
      options.class_names.empty() ? present : options.class_names;
  SourcePtr source = list_with(folder, present, names, kKerasEndings);
  if (source->size() == 0) source = list_with(folder, present, names, kOtherEndings);
  if (source->size() == 0)
    throw DataError(
        {.where = folder.string(),
         .got =
             "no image in any of its " + std::to_string(present.size()) + " folders" +
             (source->index().notes.empty() ? "" : " (" + join(source->index().notes, ", ") + ")"),
         .expected = "expected files named *.jpg, *.jpeg, *.png, *.bmp, *.webp, "
                     "*.gif in a folder per class"});
  return source;
}

}  // namespace plimsoll
