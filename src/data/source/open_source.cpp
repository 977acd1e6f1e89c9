#include "data/source/open_source.h"

#include <glob.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "base/text.h"
#include "data/source/class_folders.h"
#include "data/source/coco.h"
#include "data/source/fashion_mnist.h"
#include "data/source/folder.h"
#include "data/source/folder_layout.h"
#include "data/source/idx_pair.h"
#include "data/source/memory_source.h"
#include "data/source/parts.h"
#include "data/source/picture_list.h"
#include "data/source/record_source.h"
#include "data/source/tfrecord.h"
#include "data/source/voc.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

constexpr const char* kExpected =
    "expected a folder with a sub-folder per class, TFRecord files, a CSV of path,label, IDX "
    "files, a Pascal VOC or COCO folder, or the word fashion-mnist";

// Of sets in two parts, whether the one is wanted that is not for training.
bool wants_test(const SourceOptions& options) {
  const std::string part =
      options.part.empty() ? options.preferred_parts.front() : part_of(options.part);
  return part == "val" || part == "test";
}

std::string lower_extension(const fs::path& path) { return to_lower(path.extension().string()); }

std::vector<fs::path> expand(const std::string& pattern) {
  glob_t found{};
  const int code = ::glob(pattern.c_str(), GLOB_BRACE | GLOB_TILDE, nullptr, &found);
  std::vector<fs::path> paths(found.gl_pathv, found.gl_pathv + (code == 0 ? found.gl_pathc : 0));
  ::globfree(&found);
  if (paths.empty())
    throw DataError({.where = pattern,
                     .got = "no file has such a name",
                     .expected = "expected TFRecord files",
                     .hint = "quote the pattern, so that the shell leaves it alone"});
  return paths;
}

// "12 *.jpg, 3 *.txt and 2 folders".
std::string describe_folder(const fs::path& folder) {
  std::map<std::string, int> endings;
  int folders = 0;
  for (const FolderEntry& entry : list_folder(folder))
    if (entry.is_folder)
      ++folders;
    else
      ++endings[lower_extension(entry.name)];
  std::vector<std::string> parts;
  for (const auto& [ending, count] : endings)
    parts.push_back(std::to_string(count) +
                    (ending.empty() ? " without extension" : " *" + ending));
  if (parts.size() > 6) parts.resize(6);
  if (folders > 0)
    parts.push_back(std::to_string(folders) + (folders == 1 ? " folder" : " folders"));
  return parts.empty() ? "it is empty" : "it holds " + join(parts, ", ");
}

std::vector<fs::path> shards_in(const fs::path& folder) {
  std::vector<fs::path> shards;
  for (const FolderEntry& entry : list_folder(folder))
    if (!entry.is_folder && is_shard_name(entry.name)) shards.push_back(folder / entry.name);
  return shards;
}

SourcePtr open_folder(const fs::path& folder, const SourceOptions& options);

SourcePtr open_voc_folder(const fs::path& folder, const SourceOptions& asked) {
  SourceOptions options = asked;
  if (options.part.empty() && !options.whole_voc)
    for (const std::string& part : options.preferred_parts)
      if (options.part.empty() && has_voc_list(folder, part)) options.part = part;
  const PartChoice choice{.part = part_of(options.part), .parts = voc_parts(folder), .chosen = {}};
  if (!options.part.empty() && !has_voc_list(folder, options.part))
    throw no_such_part(options, folder.string(), choice.parts);
  return name_part(open_voc({.root = folder}, options), choice);
}

// A folder that is none of the published kinds.
SourcePtr open_by_looks(const fs::path& folder, const SourceOptions& options) {
  const FolderLayout layout = find_layout(folder, options);
  SourceOptions inside = options;
  if (!layout.choice.part.empty()) inside.part.clear();
  switch (layout.kind) {
    case FolderLayout::Kind::parts:
      return name_part(open_folder(layout.choice.chosen[0], inside), layout.choice);
    case FolderLayout::Kind::xml: return name_part(open_voc(layout.xml, inside), layout.choice);
    case FolderLayout::Kind::list:
      return name_part(open_picture_list(layout.list, inside), layout.choice);
    case FolderLayout::Kind::classes:
      if (std::ranges::any_of(list_folder(folder), &FolderEntry::is_folder))
        return open_class_folders(folder, options);
      break;
    case FolderLayout::Kind::flat: break;
  }
  throw DataError({.where = folder.string(),
                   .got = describe_folder(folder),
                   .expected = kExpected,
                   .hint = "images go into a folder named like their class: " +
                           (folder / "cat" / "1.jpg").string()});
}

SourcePtr open_folder(const fs::path& folder, const SourceOptions& options) {
  if (options.reading != Reading::classes) {
    if (is_voc_folder(folder)) return open_voc_folder(folder, options);
    if (is_coco_folder(folder)) return open_coco(folder, options);
  }
  const bool test = wants_test(options);
  if (has_idx_pair(folder, test)) return open_idx_folder(folder, test);
  if (options.part.empty() && has_idx_pair(folder, !test)) return open_idx_folder(folder, !test);
  if (const std::vector<fs::path> shards = shards_in(folder); !shards.empty()) {
    const PartChoice choice = choose_part(shards, options, folder.string());
    return name_part(open_records(choice.chosen, options), choice);
  }
  return open_by_looks(folder, options);
}

SourcePtr open_file(const fs::path& path, const SourceOptions& options) {
  const std::string name = path.filename();
  const std::string extension = lower_extension(path);
  if (extension == ".csv" || extension == ".tsv") return open_picture_list(path, options);
  if (extension == ".json") return open_coco(path, options);
  if (extension == ".txt") {  // .../ImageSets/Main/train.txt
    const fs::path root = fs::absolute(path).parent_path().parent_path().parent_path();
    if (is_voc_folder(root)) {
      SourceOptions part = options;
      part.part = path.stem();
      return open_voc({.root = root}, part);
    }
  }
  if (is_idx_images(path)) return open_idx_pair(path);
  const RecordPacking packing = sniff_records(path);
  if (packing == RecordPacking::plain || is_shard_name(name)) return open_records({path}, options);
  throw DataError({.where = path.string(),
                   .got = "the file is of no known kind",
                   .expected = kExpected,
                   .hint = extension == ".txt" ? "a list of images is named *.csv" : ""});
}

}  // namespace

SourcePtr open_source(const std::string& data, const SourceOptions& options) {
  if (data == "fashion-mnist") {
    if (!options.part.empty() && part_of(options.part).empty())
      throw no_such_part(options, data, {"train", "test"});
    const Split part = wants_test(options) ? Split::test : Split::train;
    return make_memory_source(load_fashion_mnist(part), "fashion-mnist", "Fashion-MNIST");
  }
  const fs::path path(data);
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::is_directory(status)) return open_folder(path, options);
  if (fs::exists(status)) {
    if (!options.part.empty()) choose_part({path}, options, data);  // which it must tell of
    return open_file(path, options);
  }
  if (data.find_first_of("*?[{") != std::string::npos) {
    // A pattern is a choice; only --part narrows it.
    const std::vector<fs::path> shards = expand(data);
    if (options.part.empty()) return open_records(shards, options);
    const PartChoice choice = choose_part(shards, options, data);
    return name_part(open_records(choice.chosen, options), choice);
  }
  throw DataError({.where = data.empty() ? "DATA" : data,
                   .got = data.empty() ? "nothing is named" : "there is no such file or folder",
                   .expected = kExpected});
}

}  // namespace plimsoll
