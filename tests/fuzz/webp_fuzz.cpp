// Any bytes read as WebP: see decode_any.h.
#include "data/codec/decode.h"

#include "decode_any.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  decode_any(data, size, plimsoll::ImageFormat::webp);
  return 0;
}
