#include "data/source/voc.h"

#include <expat.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <memory>

#include "base/files.h"
#include "base/text.h"
#include "data/source/class_numbers.h"
#include "data/source/folder.h"
#include "data/source/picture_names.h"

namespace plimsoll {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestText = 1 << 16;

// Follows expat's events by the path of open elements. Exceptions may not pass through expat's C
// code: the first failure is kept, and the parser stopped.
class VocParser {
 public:
  explicit VocParser(std::string_view where) : where_(where), parser_(XML_ParserCreate(nullptr)) {
    if (!parser_) throw std::bad_alloc();
    XML_SetUserData(parser_.get(), this);
    XML_SetElementHandler(
        parser_.get(),
        [](void* self, const XML_Char* name, const XML_Char**) { of(self).on_start(name); },
        [](void* self, const XML_Char*) { of(self).on_end(); });
    XML_SetCharacterDataHandler(parser_.get(), [](void* self, const XML_Char* text, int length) {
      of(self).on_text({text, static_cast<std::size_t>(length)});
    });
  }

  VocAnnotation parse(std::string_view xml) {
    const XML_Status status =
        XML_Parse(parser_.get(), xml.data(), static_cast<int>(xml.size()), XML_TRUE);
    if (!failure_.empty()) fail(failure_, expected_);
    if (status != XML_STATUS_OK)
      fail(XML_ErrorString(XML_GetErrorCode(parser_.get())), "expected well-formed XML");
    if (!is_annotation_) fail("no <annotation>", "expected a Pascal VOC annotation");
    return std::move(result_);
  }

 private:
  struct Free {
    void operator()(XML_ParserStruct* parser) const { XML_ParserFree(parser); }
  };

  static VocParser& of(void* self) { return *static_cast<VocParser*>(self); }

  [[noreturn]] void fail(const std::string& got, const std::string& expected) const {
    throw DataError({.where = std::string(where_) + ": line " +
                              std::to_string(XML_GetCurrentLineNumber(parser_.get())),
                     .got = got,
                     .expected = expected});
  }

  void stop(std::string got, std::string expected) noexcept {
    if (failure_.empty()) {
      failure_ = std::move(got);
      expected_ = std::move(expected);
    }
    XML_StopParser(parser_.get(), XML_FALSE);
  }

  // Deep enough for what is read; deeper elements are only counted.
  void on_start(const XML_Char* name) {
    ++depth_;
    if (depth_ <= kLevels) levels_[static_cast<std::size_t>(depth_ - 1)] = name;
    text_.clear();
    if (depth_ == 1) is_annotation_ = levels_[0] == "annotation";
    if (is_at({"annotation", "object"})) object_ = {};
  }

  void on_text(std::string_view text) {
    if (text_.size() + text.size() > kLongestText) return stop("a very long text", "expected less");
    text_ += text;
  }

  void on_end() {
    const std::string value(trim(text_));
    text_.clear();
    if (is_at({"annotation", "filename"})) result_.filename = value;
    if (is_at({"annotation", "size", "width"})) result_.size.width = whole(value);
    if (is_at({"annotation", "size", "height"})) result_.size.height = whole(value);
    if (is_at({"annotation", "object", "name"})) object_.name = value;
    if (is_at({"annotation", "object", "difficult"})) object_.difficult = value == "1";
    if (is_at({"annotation", "object", "bndbox"})) object_.has_box = true;
    if (is_at({"annotation", "object", "bndbox", "xmin"})) object_.xmin = number(value);
    if (is_at({"annotation", "object", "bndbox", "ymin"})) object_.ymin = number(value);
    if (is_at({"annotation", "object", "bndbox", "xmax"})) object_.xmax = number(value);
    if (is_at({"annotation", "object", "bndbox", "ymax"})) object_.ymax = number(value);
    if (is_at({"annotation", "object"})) {
      if (object_.name.empty()) stop("an object without a name", "expected <name>");
      if (!object_.has_box) stop("an object without a box", "expected <bndbox>");
      result_.objects.push_back(std::move(object_));
    }
    --depth_;
  }

  bool is_at(std::initializer_list<std::string_view> path) const {
    return std::ssize(path) == depth_ && std::equal(path.begin(), path.end(), levels_.begin());
  }

  double number(const std::string& text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
      stop("'" + text.substr(0, 40) + "'", "expected a number");
    return value;
  }
  // A size that is no size counts as not given.
  std::int64_t whole(const std::string& text) {
    const double value = number(text);
    return value >= 1 && value < 1e9 ? static_cast<std::int64_t>(value) : 0;
  }

  static constexpr std::ptrdiff_t kLevels = 4;
  std::string_view where_;
  std::unique_ptr<XML_ParserStruct, Free> parser_;
  std::array<std::string, kLevels> levels_;
  std::ptrdiff_t depth_ = 0;
  std::string text_;
  VocObject object_;
  VocAnnotation result_;
  bool is_annotation_ = false;
  std::string failure_;
  std::string expected_;
};

fs::path list_of(const fs::path& root, const std::string& part) {
  return root / "ImageSets" / "Main" / (part + ".txt");
}

// The XML files, relative to the root, in order.
std::vector<std::string> list_files(const VocFolders& folders, const std::string& part) {
  const auto within = [](const std::string& folder, const std::string& name) {
    return folder.empty() ? name : folder + "/" + name;
  };
  std::vector<std::string> files;
  if (part.empty() || !has_voc_list(folders.root, part)) {
    for (const std::string& folder : folders.annotations)
      for (const FolderEntry& entry : list_folder(folders.root / folder))
        if (to_lower(entry.name).ends_with(".xml")) files.push_back(within(folder, entry.name));
    return files;
  }
  const std::string text = read_file(list_of(folders.root, part), 64_MiB);
  for (std::string_view line : split(text, '\n')) {
    // "name", or "name -1" in the lists of one class.
    line = trim(line);
    line = line.substr(0, line.find_first_of(" \t"));
    if (!line.empty()) files.push_back(within(folders.annotations[0], std::string(line) + ".xml"));
  }
  return files;
}

// The picture of an annotation: the one that it names, else one that is named like itself.
struct FoundPicture {
  std::string relative;
  Bytes size;
};
std::optional<FoundPicture> find_picture(const VocFolders& folders, const fs::path& file,
                                         const std::string& filename) {
  std::vector<std::string> candidates;
  if (!filename.empty()) candidates.push_back(fs::path(filename).filename());
  for (const char* ending : {".jpg", ".jpeg", ".png", ".JPG", ".JPEG", ".PNG", ".bmp", ".webp"})
    candidates.push_back(file.stem().string() + ending);
  std::vector<std::string> places = folders.pictures;
  places.push_back(file.parent_path().string());
  for (const std::string& name : candidates) {
    if (name.find('\0') != std::string::npos) continue;
    for (const std::string& place : places) {
      struct stat status {};
      const std::string relative = (fs::path(place) / name).string();
      if (::stat((folders.root / relative).c_str(), &status) == 0 && S_ISREG(status.st_mode))
        return FoundPicture{.relative = relative, .size = Bytes{status.st_size}};
    }
  }
  return std::nullopt;
}

// "JPEGImages", "images or its own folder".
std::string places_text(const VocFolders& folders) {
  std::vector<std::string> names;
  for (const std::string& name : folders.pictures)
    if (!name.empty()) names.push_back(name);
  return names.empty() ? "its own folder" : join(names, ", ");
}

std::int64_t count_pictures(const VocFolders& folders) {
  std::int64_t count = 0;
  for (const std::string& place : folders.pictures)
    for (const FolderEntry& entry : list_folder_if_any(folders.root / place))
      count += !entry.is_folder && is_picture_name(entry.name);
  return count;
}

// VOC counts pixels from 1 and includes the last: [1, width] is the whole picture. Corners that
// coincide are a slip of the annotator's hand, not a pixel, and stay an empty box.
Box to_box(const VocObject& object, std::int32_t label) {
  const double first_x = object.xmin < object.xmax ? object.xmin - 1 : object.xmin;
  const double first_y = object.ymin < object.ymax ? object.ymin - 1 : object.ymin;
  Box box{.x0 = to_corner(first_x),
          .y0 = to_corner(first_y),
          .x1 = to_corner(object.xmax),
          .y1 = to_corner(object.ymax),
          .label = label,
          .difficult = object.difficult};
  box.area = area_of(box);
  return box;
}

}  // namespace

VocAnnotation parse_voc(std::string_view xml, std::string_view where) {
  return VocParser(where).parse(xml);
}

bool is_voc_folder(const fs::path& folder) {
  std::error_code error;
  return fs::is_directory(folder / "Annotations", error) &&
         fs::is_directory(folder / "JPEGImages", error);
}

bool is_voc_file(const fs::path& path) {
  constexpr Bytes kBeginning = 4_KiB;
  return read_beginning(path, kBeginning).find("<annotation") != std::string::npos;
}

bool has_voc_list(const fs::path& root, const std::string& part) {
  std::error_code error;
  return !part.empty() && fs::is_regular_file(list_of(root, part), error);
}

std::vector<std::string> voc_parts(const fs::path& root) {
  std::vector<std::string> parts;
  for (const char* part : {"train", "val", "test"})
    if (has_voc_list(root, part)) parts.emplace_back(part);
  return parts;
}

SourcePtr open_voc(const VocFolders& folders, const SourceOptions& options) {
  const auto source = std::make_shared<FileSource>("Pascal VOC", folders.root);
  ClassNumbers classes(options.class_names);
  std::vector<Box> boxes;
  const std::vector<std::string> files = list_files(folders, options.part);
  for (const std::string& file : files) {
    const fs::path path = folders.root / file;
    try {
      const VocAnnotation annotation = parse_voc(read_file(path, 64_MiB), path.string());
      const std::optional<FoundPicture> picture = find_picture(folders, file, annotation.filename);
      if (!picture)
        throw DataError(
            {.where = path.string(),
             .got = "no picture '" + annotation.filename + "' in " + places_text(folders),
             .expected = "expected the one it is about"});
      Size frame = annotation.size;
      if (!is_frame(frame)) frame = stored_size(folders.root / picture->relative);
      boxes.clear();
      for (const VocObject& object : annotation.objects)
        boxes.push_back(to_box(object, classes.find_or_add(object.name, path.string())));
      source->add(picture->relative, picture->size, boxes, frame);
    } catch (const DataError& error) {
      source->add_defect(error.complaint());
    }
  }
  if (source->size() == 0) {
    if (!source->defects().empty()) throw DataError(source->defects().front());
    throw DataError({.where = (folders.root / folders.annotations[0]).string(),
                     .got = "no annotation",
                     .expected = "expected an XML file for each picture"});
  }
  if (options.part.empty()) {
    if (!voc_parts(folders.root).empty())
      source->add_note("all annotations are taken; ImageSets/Main has lists of parts");
    const std::int64_t others = count_pictures(folders) - std::ssize(files);
    if (others > 0)
      source->add_note(std::to_string(others) +
                       (others == 1 ? " picture has no XML file and is passed over"
                                    : " pictures have no XML file and are passed over"));
  }
  classes.settle(*source);
  return source;
}

}  // namespace plimsoll
