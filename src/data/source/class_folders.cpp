#include "data/source/class_folders.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/held.h"
#include "base/text.h"
#include "data/source/file_source.h"
#include "data/source/folder.h"
#include "data/source/picture_names.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 4> kKerasEndings = {"png", "jpg", "jpeg", "bmp"};
constexpr std::array<std::string_view, 2> kOtherEndings = {"webp", "gif"};

bool ends_with_any(std::string_view name, std::span<const std::string_view> endings) {
  const std::string small = to_lower(name);
  return std::ranges::any_of(endings, [&](std::string_view end) { return small.ends_with(end); });
}

// Bytes of a file; 0 where that cannot be told: a dangling link with an image's name is a sample
// that cannot be read, not one that is not there.
Bytes size_of(const fs::path& path) {
  std::error_code error;
  const std::uintmax_t size = fs::file_size(path, error);
  return {error ? 0 : static_cast<std::int64_t>(size)};
}

// Sub-folders whose names can be those of classes, and those whose cannot: names of classes are in
// checkpoints, pictures and JSON, which are text.
struct ClassFolders {
  std::vector<std::string> classes, unnameable;
};

Complaint no_name(const fs::path& folder) {
  return {.where = folder.string(),
          .got = "the folder's name, which is the class, is not UTF-8",
          .expected = "expected a name that is text",
          .hint = "rename the folder"};
}

ClassFolders list_classes(const fs::path& folder) {
  ClassFolders found;
  for (const FolderEntry& entry : list_folder(folder))
    if (entry.is_folder)
      (is_utf8(entry.name) ? found.classes : found.unnameable).push_back(entry.name);
  return found;
}

// The files of one folder below a class.
struct Level {
  std::string folder;  // "a", "a/b", relative to the root
  std::vector<std::string> files;
};

// All folders below `top`, itself first, sorted as Keras sorts what os.walk gives: as whole paths.
std::vector<Level> walk(const fs::path& root, const std::string& top) {
  std::vector<Level> found{{.folder = top}};
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::string folder = found[i].folder;
    for (FolderEntry& entry : list_folder(root / folder))
      if (!entry.is_folder)
        found[i].files.push_back(std::move(entry.name));
      else if (!entry.is_link)
        found.push_back({.folder = folder + "/" + entry.name});
  }
  std::ranges::sort(found, {}, &Level::folder);
  return found;
}

// What a walk holds at its end, when the last folder's entries are still there: their list, grown
// by doubling, and the names.
Bytes listing_bytes(const std::vector<Level>& levels) {
  Bytes bytes = held(levels);
  std::size_t most = 0;
  for (const Level& level : levels) {
    bytes += held(level.folder) + held(level.files);
    most = std::max(most, level.files.size());
  }
  return bytes + heap_block(3 * most * sizeof(FolderEntry));
}

class Lister {
 public:
  Lister(fs::path root, std::span<const std::string_view> endings)
      : root_(std::move(root)),
        endings_(endings),
        source_(std::make_shared<FileSource>("a folder per class", root_)) {}

  void add_class(const std::string& name, std::int32_t label) {
    const std::vector<Level> levels = walk(root_, name);
    source_->note_opening(listing_bytes(levels));
    for (const Level& level : levels)
      for (const std::string& file : level.files) {
        const std::string path = level.folder + "/" + file;
        if (ends_with_any(file, endings_))
          source_->add(path, size_of(root_ / path), label);
        else if (const std::string_view kind = unread_kind(file); !kind.empty())
          ++unread_[std::string(kind)];
        else
          ++passed_over_[to_lower(fs::path(file).extension().string())];
      }
  }

  // What lies beside the folders, and might have been meant.
  void look_beside() {
    std::int64_t pictures = 0;
    std::vector<std::string> lists;
    for (const FolderEntry& entry : list_folder(root_)) {
      if (entry.is_folder) continue;
      pictures += is_picture_name(entry.name);
      if (to_lower(entry.name).ends_with(".csv")) lists.push_back(entry.name);
    }
    if (pictures > 0)
      source_->add_note("passed over beside the folders: " + std::to_string(pictures) +
                        (pictures == 1 ? " picture" : " pictures"));
    if (!lists.empty()) source_->add_note("folders are classes; not read: " + join(lists, ", "));
  }
  void add_defect(Complaint complaint) { source_->add_defect(std::move(complaint)); }

  SourcePtr finish(std::vector<std::string> class_names) {
    std::int64_t unread = 0;
    std::vector<std::string> kinds;
    for (const auto& [kind, count] : unread_) {
      unread += count;
      kinds.push_back(std::to_string(count) + " " + kind);
    }
    if (unread > 0)
      source_->add_note(std::to_string(unread) + (unread == 1 ? " file" : " files") +
                        " of a kind that is not read: " + join(kinds, ", "));
    std::vector<std::string> others;
    for (const auto& [ending, count] : passed_over_)
      if (ends_with_any(ending, kOtherEndings))
        source_->add_note(std::to_string(count) + " *" + ending +
                          " passed over, as Keras does, though they could be read");
      else
        others.push_back(std::to_string(count) +
                         (ending.empty() ? " without an extension" : " *" + ending));
    if (!others.empty()) source_->add_note("passed over: " + join(others, ", "));
    source_->finish(std::move(class_names));
    return source_;
  }

 private:
  fs::path root_;
  std::span<const std::string_view> endings_;
  std::shared_ptr<FileSource> source_;
  std::map<std::string, std::int64_t> passed_over_;
  std::map<std::string, std::int64_t> unread_;
};

SourcePtr list_with(const fs::path& folder, const ClassFolders& present,
                    const std::vector<std::string>& names,
                    std::span<const std::string_view> endings) {
  Lister lister(folder, endings);
  for (std::size_t label = 0; label < names.size(); ++label)
    if (std::ranges::binary_search(present.classes, names[label]))
      lister.add_class(names[label], static_cast<std::int32_t>(label));
  lister.look_beside();
  for (const std::string& name : present.unnameable) lister.add_defect(no_name(folder / name));
  return lister.finish(names);
}

}  // namespace

SourcePtr open_class_folders(const fs::path& folder, const SourceOptions& options) {
  const ClassFolders folders = list_classes(folder);
  const std::vector<std::string>& present = folders.classes;
  if (present.empty() && !folders.unnameable.empty())
    throw DataError(no_name(folder / folders.unnameable[0]));
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
  SourcePtr source = list_with(folder, folders, names, kKerasEndings);
  if (source->size() == 0) source = list_with(folder, folders, names, kOtherEndings);
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
