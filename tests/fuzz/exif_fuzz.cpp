// Any bytes read as an EXIF block, and as an XMP packet: an orientation, or none.
#include "data/picture/orientation.h"

#include <cstdint>

#include "base/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::byte> bytes = std::as_bytes(std::span(data, size));
  for (const auto orientation :
       {plimsoll::exif_orientation(bytes), plimsoll::xmp_orientation(bytes)})
    plimsoll::expect(!orientation || (*orientation >= 1 && *orientation <= 8),
                     "an orientation is one of eight");
  return 0;
}
