// Any bytes decoded as an image of one format: a DataError, or pictures of the size that was told,
// within the memory that was told, and a crop that is a part of the whole.
#pragma once

#include "base/error.h"
#include "data/codec/decode.h"

inline void decode_any(const std::uint8_t* data, std::size_t size, plimsoll::ImageFormat format) {
  using namespace plimsoll;
  const auto bytes = std::as_bytes(std::span(data, size));
  if (sniff_format(bytes) != format) return;
  constexpr std::int64_t kFewPixels = 64 * 1024;
  Decoder decoder;
  Picture whole;
  Picture part;
  try {
    const ImageInfo info = probe_image(bytes, "fuzz");
    decoder.decode(bytes, "fuzz", info, {.max_pixels = kFewPixels}, whole);
    expect(whole.size() == info.size(), "the picture has the size that its header tells");
    const Rect crop{info.width / 3, info.height / 4, (info.width + 1) / 2, (info.height + 1) / 2};
    const Coverage coverage =
        decoder.decode(bytes, "fuzz", info, {.max_pixels = kFewPixels, .crop = crop}, part);
    for (std::int64_t y = 0; y < crop.height; ++y)
      for (std::int64_t x = 0; x < crop.width * 3; ++x)
        expect(part.row(crop.y - coverage.y + y)[(crop.x - coverage.x) * 3 + x] ==
                   whole.row(crop.y + y)[crop.x * 3 + x],
               "a crop is a part of the whole");
    const DecodeRequest small{.channels = 1, .max_pixels = kFewPixels, .at_least = Size{3, 3}};
    decoder.decode(bytes, "fuzz", info, small, part);
  } catch (const DataError&) {
  }
}
