// Any bytes read as COCO annotations: a DataError or images and categories with names.
#include "data/source/coco.h"

#include "base/error.h"
#include "memory_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const MemoryFile file(data, size);
  try {
    const plimsoll::CocoFile coco = plimsoll::read_coco(file.path());
    for (const plimsoll::CocoImage& image : coco.images)
      plimsoll::expect(!image.file_name.empty(), "an image has a name");
    plimsoll::expect(coco.boxes.size() * 8 <= size, "boxes have four numbers");
  } catch (const plimsoll::DataError&) {
  }
  return 0;
}
