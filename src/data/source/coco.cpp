#include "data/source/coco.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <map>
#include <span>
#include <system_error>

#include "base/files.h"
#include "base/text.h"
#include "data/source/file_source.h"
#include "data/source/folder.h"
#include "data/source/picture_names.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> json_files(const fs::path& folder) {
  std::vector<fs::path> found;
  for (const FolderEntry& entry : list_folder_if_any(folder / "annotations"))
    // Captions and keypoints of the same pictures lie beside them.
    if (entry.name.ends_with(".json") && !entry.name.starts_with("captions_") &&
        !entry.name.starts_with("person_keypoints_"))
      found.push_back(folder / "annotations" / entry.name);
  for (const FolderEntry& entry : list_folder(folder))
    if (entry.name.ends_with(".coco.json")) found.push_back(folder / entry.name);
  return found;
}

fs::path choose_json(const fs::path& folder, const std::string& part) {
  std::vector<fs::path> found = json_files(folder);
  if (!part.empty())
    std::erase_if(found, [&](const fs::path& path) {
      return path.filename().string().find(part) == std::string::npos;
    });
  if (found.size() == 1) return found[0];
  std::vector<std::string> names;
  for (const fs::path& path : found) names.push_back(path.filename());
  throw DataError(
      {.where = folder.string(),
       .got = found.empty() ? "no COCO annotations" + (part.empty() ? "" : " named *" + part + "*")
                            : "several annotations: " + join(names, ", "),
       .expected = "expected one",
       .hint = found.empty() ? "" : "give the path of the JSON file instead"});
}

// The folder of the pictures: the first place that has the first picture.
fs::path choose_images(const fs::path& json, const CocoFile& file, const fs::path& asked) {
  if (!asked.empty() || file.images.empty()) return asked.empty() ? json.parent_path() : asked;
  const fs::path beside = json.parent_path();
  const fs::path above = beside / "..";
  // "instances_train2017.json" is about train2017.
  std::string set = json.stem();
  set = set.substr(set.rfind('_') + 1);
  const std::array<fs::path, 7> places = {above / set, above / "images" / set, above / "images",
                                          beside,      beside / "images",      beside / set,
                                          above};
  if (const auto folder = find_folder_of(file.images[0].file_name, places))
    return folder->lexically_normal();
  throw DataError({.where = json.string(),
                   .got = "its first picture '" + file.images[0].file_name + "' is not in " +
                          (above / set).lexically_normal().string() + ", " +
                          (above / "images").lexically_normal().string() + " or beside it",
                   .expected = "expected the folder of the pictures",
                   .hint = "say where it is with --images DIR"});
}

// Class numbers by category id; names in that order, or the training set's.
struct Categories {
  std::map<std::int64_t, std::int32_t> by_id;
  std::vector<std::string> names;

  // By class number; a class that the file has not gets one that no category has.
  std::vector<std::int64_t> ids() const {
    const std::int64_t next = by_id.empty() ? 1 : by_id.rbegin()->first + 1;
    std::vector<std::int64_t> ids(names.size());
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = next + static_cast<std::int64_t>(i);
    for (const auto& [id, label] : by_id) ids[static_cast<std::size_t>(label)] = id;
    return ids;
  }
};
Categories number_categories(const fs::path& json, CocoFile& file,
                             const std::vector<std::string>& class_names) {
  Categories result{.names = class_names};
  std::ranges::sort(file.categories, {}, &CocoCategory::id);
  for (const CocoCategory& category : file.categories) {
    auto label = static_cast<std::int32_t>(result.by_id.size());
    if (class_names.empty()) {
      result.names.push_back(category.name);
    } else {
      const auto found = std::ranges::find(class_names, category.name);
      if (found == class_names.end()) continue;
      label = static_cast<std::int32_t>(found - class_names.begin());
    }
    if (!result.by_id.emplace(category.id, label).second)
      throw DataError({.where = json.string(),
                       .got = "category " + std::to_string(category.id) + " a second time",
                       .expected = "expected each once"});
  }
  return result;
}

}  // namespace

bool is_coco_folder(const fs::path& folder) { return !json_files(folder).empty(); }

SourcePtr open_coco(const fs::path& path, const SourceOptions& options) {
  std::error_code error;
  const fs::path json = fs::is_directory(path, error) ? choose_json(path, options.part) : path;
  CocoFile file = read_coco(json);
  const fs::path images = choose_images(json, file, options.images);
  const Categories categories = number_categories(json, file, options.class_names);
  const auto source = std::make_shared<FileSource>("COCO", images);

  std::ranges::stable_sort(file.boxes, {}, &CocoBox::image);
  std::int64_t assigned = 0;
  std::vector<Box> boxes;
  std::vector<std::int64_t> ids;
  std::ranges::sort(file.images, {}, &CocoImage::id);
  for (std::size_t i = 0; i < file.images.size(); ++i) {
    const CocoImage& image = file.images[i];
    const std::span mine(std::ranges::lower_bound(file.boxes, image.id, {}, &CocoBox::image),
                         std::ranges::upper_bound(file.boxes, image.id, {}, &CocoBox::image));
    try {
      if (i > 0 && file.images[i - 1].id == image.id)
        throw DataError({.where = json.string(),
                         .got = "image " + std::to_string(image.id) + " a second time",
                         .expected = "expected each once"});
      assigned += std::ssize(mine);
      struct stat status {};
      const fs::path picture = images / image.file_name;
      const bool is_name = image.file_name.find('\0') == std::string::npos;
      if (!is_name || ::stat(picture.c_str(), &status) != 0)
        throw_file_error(picture, "cannot read the picture", is_name ? errno : EINVAL);
      const Size frame = is_frame(image.size) ? image.size : stored_size(picture);
      boxes.clear();
      for (const CocoBox& box : mine) {
        const auto label = categories.by_id.find(box.category);
        if (label == categories.by_id.end())
          throw DataError({.where = json.string() + ": image " + std::to_string(image.id),
                           .got = "a box of category " + std::to_string(box.category),
                           .expected = "expected one of the " +
                                       std::to_string(categories.by_id.size()) + " categories"});
        boxes.push_back({.x0 = box.x0,
                         .y0 = box.y0,
                         .x1 = box.x1,
                         .y1 = box.y1,
                         .label = label->second,
                         .crowd = box.crowd,
                         .area = box.area});
      }
      source->add(image.file_name, Bytes{status.st_size}, boxes, frame);
      ids.push_back(image.id);
    } catch (const DataError& problem) {
      source->add_defect(problem.complaint());
    }
  }
  if (const std::int64_t lost = std::ssize(file.boxes) - assigned; lost > 0)
    source->add_defect({.where = json.string(),
                        .got = std::to_string(lost) + " boxes of images that are not listed",
                        .expected = "expected every image_id among the images"});
  if (source->size() == 0) {
    if (!source->defects().empty()) throw DataError(source->defects().front());
    throw DataError({.where = json.string(), .got = "no image in it", .expected = "expected some"});
  }
  source->add_ids(std::move(ids), categories.ids());
  source->finish(categories.names);
  return source;
}

}  // namespace plimsoll
