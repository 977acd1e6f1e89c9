#include "data/source/folder_layout.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "data/source/folder.h"
#include "data/source/picture_list.h"
#include "data/source/picture_names.h"
#include "data/source/record_source.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

// What lies in one folder, not below it.
struct Contents {
  std::string name;  // relative to the root; empty for itself
  std::int64_t pictures = 0;
  bool has_xml = false;
  bool has_records = false;
  std::vector<std::string> lists;  // *.csv and *.tsv
  std::vector<std::string> folders;
  std::vector<Contents> below;  // of those without pictures of their own

  bool has_pictures_below() const {
    return std::ranges::any_of(below, [](const Contents& c) { return c.pictures > 0; });
  }
  bool has_pictures() const { return pictures > 0 || has_pictures_below(); }
  // Whether it can be read as a set of its own.
  bool is_set() const {
    return has_pictures_below() || has_records || !lists.empty() || (has_xml && pictures > 0);
  }
  std::string base_name() const { return fs::path(name).filename().string(); }
};

Contents look_into(const fs::path& root, const std::string& name, int depth) {
  Contents found{.name = name};
  const fs::path folder = root / name;
  int looked_at = 0;
  for (const FolderEntry& entry : list_folder(folder)) {
    const std::string small = to_lower(entry.name);
    if (entry.is_folder) {
      if (!entry.name.starts_with('.') && entry.name != "__MACOSX")
        found.folders.push_back(name.empty() ? entry.name : name + "/" + entry.name);
      continue;
    }
    found.pictures += is_picture_name(small) || !unread_kind(small).empty();
    found.has_records = found.has_records || is_shard_name(entry.name);
    if (small.ends_with(".csv") || small.ends_with(".tsv")) found.lists.push_back(entry.name);
    if (small.ends_with(".coco.json")) found.has_records = true;
    // Not every XML file is an annotation; the first few tell.
    if (small.ends_with(".xml") && !found.has_xml && ++looked_at <= 3)
      found.has_xml = is_voc_file(folder / entry.name);
  }
  if (depth == 0 || (found.pictures > 0 && !name.empty())) return found;
  for (const std::string& child : found.folders) {
    found.below.push_back(look_into(root, child, depth - 1));
    // Folders of pictures in a folder are like each other; one tells.
    if (depth == 1 && found.below.back().pictures > 0 && !found.below.back().has_xml) break;
  }
  return found;
}

std::string quoted(const std::vector<const Contents*>& list) {
  std::vector<std::string> names;
  for (const Contents* c : list) names.push_back("'" + c->name + "'");
  if (names.size() > 4) {
    names.resize(4);
    names.emplace_back("...");
  }
  return join(names, ", ");
}

class LayoutFinder {
 public:
  LayoutFinder(fs::path root, const SourceOptions& options)
      : root_(std::move(root)), options_(options), top_(look_into(root_, "", 2)) {
    for (const Contents& sub : top_.below) {
      if (sub.has_pictures()) with_pictures_.push_back(&sub);
      const bool is_part = !part_of(sub.name).empty();
      if (is_part && sub.is_set())
        set_parts_.push_back(&sub);
      else if (is_part && sub.pictures > 0)
        flat_parts_.push_back(&sub);
      else if (sub.has_pictures())
        others_.push_back(&sub);
    }
  }

  FolderLayout find() {
    const bool by_class = options_.reading == Reading::classes;
    if (by_class && options_.part.empty()) return {.kind = FolderLayout::Kind::classes};
    if (is_in_parts()) return parts();
    if (!by_class) {
      if (has_annotations()) return xml();
      if (const std::vector<fs::path> lists = find_lists(); !lists.empty()) return list(lists);
      if (options_.reading == Reading::boxes)
        throw UsageError({.where = "--read-as boxes",
                          .got = root_.string() + " has no boxes that are known",
                          .expected = "expected Pascal VOC's XML files or a CSV of boxes"});
      ask_about_flat_parts();
      ask_about_one_folder();
    }
    if (!options_.part.empty()) throw no_such_part(options_, root_.string(), {});
    if (with_pictures_.empty() && top_.pictures > 0) return {.kind = FolderLayout::Kind::flat};
    return {.kind = FolderLayout::Kind::classes};
  }

 private:
  using Subfolders = std::vector<const Contents*>;

  [[noreturn]] void ask(std::string got, std::string hint) const {
    throw DataError({.where = root_.string(),
                     .got = std::move(got),
                     .expected = "expected a folder that can be read in one way",
                     .hint = std::move(hint)});
  }

  // Folders named by part of which at least one is a set.
  bool is_in_parts() const {
    if (set_parts_.empty()) return false;
    std::vector<std::string> names;
    for (const Subfolders* list : {&set_parts_, &flat_parts_})
      for (const Contents* c : *list) names.push_back(part_of(c->name));
    std::ranges::sort(names);
    if (const auto twice = std::ranges::adjacent_find(names); twice != names.end()) {
      if (!others_.empty() || options_.reading != Reading::found) return false;
      ask("several folders for the part " + *twice + " in " + quoted(with_pictures_),
          "name the folder of the part itself; --read-as classes takes all for classes");
    }
    if (names.size() == 1 && !others_.empty() && options_.part.empty() &&
        options_.reading == Reading::found) {
      // "crash_test" among others is a class.
      if (set_parts_[0]->name.find_first_of("_-. ") != std::string::npos) return false;
      ask("'" + set_parts_[0]->name + "' holds folders, as a part of a set does, and lies beside " +
              quoted(others_) + ", as a class does",
          "--part " + names[0] + " reads that part alone; --read-as classes takes all for classes");
    }
    return true;
  }

  FolderLayout parts() const {
    std::vector<fs::path> all;
    for (const Subfolders* list : {&set_parts_, &flat_parts_, &others_})
      for (const Contents* c : *list) all.push_back(root_ / c->name);
    SourceOptions options = options_;
    if (set_parts_.size() + flat_parts_.size() == 1 && options.part.empty())
      options.part = part_of((set_parts_.empty() ? flat_parts_ : set_parts_)[0]->name);
    return {.kind = FolderLayout::Kind::parts, .choice = choose_part(all, options, root_.string())};
  }

  // XML without pictures in the same folder, or nested once more ("annotations/xmls").
  std::vector<std::string> annotation_folders() const {
    std::vector<std::string> found;
    for (const Contents& sub : top_.below) {
      if (sub.has_xml && sub.pictures == 0) found.push_back(sub.name);
      for (const Contents& child : sub.below)
        if (child.has_xml && child.pictures == 0) found.push_back(child.name);
    }
    return found;
  }

  Subfolders with_xml_beside() const {
    Subfolders found;
    for (const Contents* sub : with_pictures_)
      if (sub->has_xml) found.push_back(sub);
    return found;
  }

  bool has_annotations() const {
    return top_.has_xml || !annotation_folders().empty() || !with_xml_beside().empty();
  }

  FolderLayout xml() const {
    FolderLayout layout{.kind = FolderLayout::Kind::xml,
                        .xml = {.root = root_, .annotations = {}, .pictures = {}}};
    VocFolders& folders = layout.xml;
    if (top_.pictures > 0) folders.pictures.emplace_back();
    for (const Contents* sub : with_pictures_) {
      if (sub->pictures > 0)
        folders.pictures.push_back(sub->name);
      else
        for (const std::string& child : sub->folders) folders.pictures.push_back(child);
    }
    if (top_.has_xml) {
      folders.annotations = {""};
      if (folders.pictures.empty()) look_beside(folders);
    } else if (std::vector<std::string> names = annotation_folders(); !names.empty()) {
      folders.annotations = std::move(names);
    } else {
      const Subfolders beside = with_xml_beside();
      if (with_pictures_.size() > 1 && options_.reading == Reading::found)
        ask("XML files lie beside the pictures in " + quoted(beside) +
                ": boxes of the pictures, or folders that are classes",
            "--read-as boxes reads the XML files; --read-as classes takes folders for classes");
      for (const Contents* sub : beside) folders.annotations.push_back(sub->name);
    }
    if (has_voc_list(root_, options_.part)) return layout;
    std::vector<fs::path> all(folders.annotations.begin(), folders.annotations.end());
    layout.choice = choose_part(all, options_, root_.string());
    folders.annotations.clear();
    for (const fs::path& path : layout.choice.chosen) folders.annotations.push_back(path.string());
    std::erase_if(folders.pictures, [&](const fs::path& place) {
      const std::string part = part_of(place.filename().string());
      return !layout.choice.part.empty() && !part.empty() && part != layout.choice.part;
    });
    return layout;
  }

  // The folder of the XML files itself was named: the pictures are beside it.
  void look_beside(VocFolders& folders) const {
    const fs::path self = fs::absolute(root_).lexically_normal();
    const fs::path place = self.has_filename() ? self : self.parent_path();
    folders.root = place.parent_path();
    folders.annotations = {place.filename().string()};
    const Contents around = look_into(folders.root, "", 1);
    if (around.pictures > 0) folders.pictures.emplace_back();
    for (const Contents& sub : around.below)
      if (sub.pictures > 0) folders.pictures.push_back(sub.name);
  }

  // Lists of pictures in it, or in a folder without pictures ("data"). Where folders of pictures
  // can be classes, they are: a list beside them says the same once more.
  std::vector<fs::path> find_lists() const {
    std::vector<fs::path> found;
    if (others_.size() > 1) return found;
    const auto add = [&](const Contents& contents) {
      for (const std::string& name : contents.lists)
        if (is_picture_list(root_ / contents.name / name))
          found.push_back(root_ / contents.name / name);
    };
    add(top_);
    if (!found.empty()) return found;
    for (const Contents& sub : top_.below)
      if (!sub.has_pictures()) add(sub);
    return found;
  }

  FolderLayout list(const std::vector<fs::path>& lists) const {
    FolderLayout layout{.kind = FolderLayout::Kind::list,
                        .choice = choose_part(lists, options_, root_.string())};
    if (layout.choice.chosen.size() != 1) {
      std::vector<std::string> names;
      for (const fs::path& path : layout.choice.chosen) names.push_back(path.filename().string());
      ask("several lists of pictures: " + join(names, ", "),
          "name one of them instead of the folder");
    }
    layout.list = layout.choice.chosen[0];
    return layout;
  }

  void ask_about_flat_parts() const {
    if (flat_parts_.empty() || !others_.empty() || !set_parts_.empty()) return;
    ask("pictures, and no folders, in " + quoted(flat_parts_) +
            ": parts of a set whose classes are not told, or classes of these names",
        "--read-as classes takes them for classes; parts have a folder per class in each: " +
            (root_ / flat_parts_[0]->name / "cat" / "1.jpg").string());
  }

  void ask_about_one_folder() const {
    if (with_pictures_.size() != 1 || !options_.part.empty()) return;
    const Contents& only = *with_pictures_[0];
    if (only.pictures == 0 && top_.below.size() == 1 && only.folders.size() > 1)
      ask("all pictures are in folders of '" + only.name +
              "': the set itself, or one class of that name",
          "give " + (root_ / only.name).string() + "; --read-as classes takes it for a class");
    if (top_.below.size() > 1 && only.pictures > 0)
      ask("of " + std::to_string(top_.below.size()) + " folders only '" + only.name +
              "' holds pictures: pictures whose annotations are of a kind that is not known, or "
              "the only class that has any",
          "boxes are read from Pascal VOC's XML files, COCO's JSON or a CSV; --read-as classes "
          "takes the folders for classes");
  }

  fs::path root_;
  const SourceOptions& options_;
  Contents top_;
  Subfolders with_pictures_;
  Subfolders set_parts_;
  Subfolders flat_parts_;
  Subfolders others_;  // with pictures, of another name
};

}  // namespace

FolderLayout find_layout(const fs::path& folder, const SourceOptions& options) {
  return LayoutFinder(folder, options).find();
}

}  // namespace plimsoll
