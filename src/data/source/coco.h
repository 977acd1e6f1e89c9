// COCO: one JSON file with images, categories and boxes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "data/source/source.h"
#include "data/source/source_options.h"

namespace plimsoll {

struct CocoImage {
  std::int64_t id = 0;
  std::string file_name;
  Size size;
};

struct CocoBox {
  std::int64_t image = 0;
  std::int64_t category = 0;
  float x0 = 0, y0 = 0, x1 = 0, y1 = 0;  // pixels from 0: x + width in double, then rounded
  bool crowd = false;
  float area = 0;  // as given; else width times height
};

struct CocoCategory {
  std::int64_t id = 0;
  std::string name;
};

struct CocoFile {
  std::vector<CocoImage> images;
  std::vector<CocoBox> boxes;
  std::vector<CocoCategory> categories;
};

// Reads the file as a stream: memory is what is returned and a buffer; outlines and captions are
// passed over as they come. Annotations without a box are left out. DataError with the byte on JSON
// that is not well formed, and on images or categories without id or name.
CocoFile read_coco(const std::filesystem::path& path);

// `path` is the JSON file, or a folder with one in it or in its sub-folder annotations; of several,
// the one with options.part in its name. Pictures are looked for in options.images, else where COCO
// and common exporters put them. Classes are the categories by id, which need not be dense.
// Pictures that are missing, or have no size where the file gives none, become defects, as do boxes
// of unknown images or categories.
SourcePtr open_coco(const std::filesystem::path& path, const SourceOptions& options);

// Whether a folder has annotations/*.json or *.coco.json.
bool is_coco_folder(const std::filesystem::path& folder);

}  // namespace plimsoll
