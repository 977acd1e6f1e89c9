// Any bytes read as BMP: see decode_any.h.
#include "data/codec/decode.h"

#include "decode_any.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  decode_any(data, size, plimsoll::ImageFormat::bmp);
  return 0;
}
