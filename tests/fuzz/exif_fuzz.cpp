// Any bytes read as an EXIF block: an orientation.
#include "data/orientation.h"

#include <cstdint>

#include "base/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const int orientation = plimsoll::exif_orientation(std::as_bytes(std::span(data, size)));
  plimsoll::expect(orientation >= 1 && orientation <= 8, "an orientation is one of eight");
  return 0;
}
