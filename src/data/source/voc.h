// Pascal VOC: an XML file per image with its boxes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "data/source/source.h"
#include "data/source/source_options.h"

namespace plimsoll {

struct VocObject {
  std::string name;
  double xmin = 0, ymin = 0, xmax = 0, ymax = 0;  // pixels, the first is 1, both ends included
  bool difficult = false;
  bool has_box = false;
};

struct VocAnnotation {
  std::string filename;
  Size size;  // zeros where it is not given
  std::vector<VocObject> objects;
};

// Reads <annotation>; unknown elements are passed over. Boxes of <part>s are not objects. DataError
// with the line on XML that is not well formed, a corner that is no number, an object without a
// name or without a box. `where` names the file.
VocAnnotation parse_voc(std::string_view xml, std::string_view where);

// Where a set keeps its XML files and its pictures: folders relative to `root`, which may be it.
struct VocFolders {
  std::filesystem::path root;
  std::vector<std::string> annotations = {"Annotations"};
  std::vector<std::string> pictures = {"JPEGImages"};
};

// Whether a folder is laid out as VOC's own: Annotations and JPEGImages.
bool is_voc_folder(const std::filesystem::path& folder);
// Whether a file begins as an annotation does.
bool is_voc_file(const std::filesystem::path& path);
// Whether it has the list ImageSets/Main/<part>.txt; and all parts that it has lists of.
bool has_voc_list(const std::filesystem::path& root, const std::string& part);
std::vector<std::string> voc_parts(const std::filesystem::path& root);

// All XML files, or those that ImageSets/Main/<part>.txt names where there is one. A picture is
// looked for beside its XML file and in the folders of pictures. Classes are the names of the
// objects, in order. A box is [xmin - 1, ymin - 1, xmax, ymax] of them, so its width is VOC's xmax
// - xmin + 1. Annotations that cannot be read, without a size whose picture has none either, or
// whose picture is missing become defects; pictures without one are noted.
SourcePtr open_voc(const VocFolders& folders, const SourceOptions& options);

}  // namespace plimsoll
