// Any bytes read as PNG, as they are and with their checksums made right: see decode_any.h.
#include "data/codec/decode.h"

#include "decode_any.h"
#include "right_checksums.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  decode_any(data, size, plimsoll::ImageFormat::png);
  const std::vector<std::uint8_t> right = with_right_chunk_checksums(data, size);
  decode_any(right.data(), right.size(), plimsoll::ImageFormat::png);
  return 0;
}
