// Any text read as a Pascal VOC annotation: a DataError or objects with names and numbers.
#include "data/source/voc.h"

#include <cmath>

#include "base/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const plimsoll::VocAnnotation annotation =
        plimsoll::parse_voc({reinterpret_cast<const char*>(data), size}, "fuzz");
    for (const plimsoll::VocObject& object : annotation.objects) {
      plimsoll::expect(!object.name.empty() && object.has_box, "an object has name and box");
      for (const double corner : {object.xmin, object.ymin, object.xmax, object.ymax})
        plimsoll::expect(std::isfinite(corner), "a corner is a number");
    }
  } catch (const plimsoll::DataError&) {
  }
  return 0;
}
