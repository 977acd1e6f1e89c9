// Any bytes read as GIF: see decode_any.h.
#include "data/codec/decode.h"

#include "decode_any.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  decode_any(data, size, plimsoll::ImageFormat::gif);
  return 0;
}
