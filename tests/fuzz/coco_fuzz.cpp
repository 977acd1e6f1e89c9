// Any bytes read as COCO annotations: a DataError or images and categories with names, and boxes of
// numbers.
#include "data/source/coco.h"

#include <cmath>

#include "base/error.h"
#include "memory_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const MemoryFile file(data, size);
  try {
    const plimsoll::CocoFile coco = plimsoll::read_coco(file.path());
    for (const plimsoll::CocoImage& image : coco.images)
      plimsoll::expect(!image.file_name.empty(), "an image has a name");
    plimsoll::expect(coco.boxes.size() * 8 <= size, "boxes have four numbers");
    for (const plimsoll::CocoBox& box : coco.boxes)
      for (const float number : {box.x0, box.y0, box.x1, box.y1, box.area})
        plimsoll::expect(std::abs(number) <= 1e30F, "a corner is a number");
  } catch (const plimsoll::DataError&) {
  }
  return 0;
}
