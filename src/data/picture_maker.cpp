#include "data/picture_maker.h"

#include <algorithm>
#include "data/codec.h"

namespace plimsoll {

PictureMaker::PictureMaker(const Source& source, const PipelineSettings& settings,
                           const LargestImage& largest)
    : source_(source),
      settings_(settings),
      largest_(largest),
      transformer_(settings.image, settings.channels, settings.interpolation) {
  buffer_.reserve(static_cast<std::size_t>(source.index().largest_encoded.count));
}

Rect PictureMaker::crop_for(const Draw& draw, Size image) const {
  if (!draw.crop && settings_.crop_to_aspect_ratio) return centred_crop(image, settings_.image);
  return crop_of(draw, image);
}

void PictureMaker::take_raw(const Encoded& encoded) {
  const Encoded::Pixels& raw = *encoded.raw;
  const auto* from = reinterpret_cast<const std::uint8_t*>(encoded.bytes.data());
  picture_.reshape(raw.height, raw.width, settings_.channels);
  const std::int64_t pixels = std::int64_t{raw.height} * raw.width;
  std::uint8_t* to = picture_.pixels.data();
  if (raw.channels == settings_.channels) {
    std::copy_n(from, pixels * raw.channels, to);
  } else if (raw.channels == 1) {
    for (std::int64_t i = 0; i < pixels; ++i) std::fill_n(to + i * 3, 3, from[i]);
  } else {
    for (std::int64_t i = 0; i < pixels; ++i, from += 3) to[i] = luma(from[0], from[1], from[2]);
  }
}

PictureMaker::Shown PictureMaker::decode(const Encoded& encoded, std::int64_t i, const Draw& draw) {
  if (encoded.raw) {
    take_raw(encoded);
    return {.coverage = {}, .crop = crop_for(draw, picture_.size())};
  }
  const std::string where = source_.where(i);
  const ImageInfo info = probe_image(encoded.bytes, where);
  DecodeRequest request{.channels = settings_.channels};
  if (const Bytes need = decode_bytes(info, request); need > largest_.decode)
    throw DataError({.where = where,
                     .got = "an image of " + std::to_string(info.width) + " x " +
                            std::to_string(info.height) + " that takes " + to_string(need) +
                            " to decode",
                     .expected = "expected at most " + to_string(largest_.decode) +
                                 ", which the largest took when the data was scanned",
                     .hint = "it was changed during the run"});
  const Rect crop = crop_for(draw, info.size());
  request.crop = crop;
  if (settings_.scaled_decoding) request.at_least = settings_.image;
  return {.coverage = decoder_.decode(encoded.bytes, where, info, request, picture_), .crop = crop};
}

void PictureMaker::make(std::int64_t i, std::int64_t epoch, std::uint8_t* hwc, Draw& draw) {
  draw = draw_augment(settings_.augment, settings_.seed, epoch, source_.number(i));
  const Encoded encoded = source_.read(i, buffer_);
  const Shown shown = decode(encoded, i, draw);
  transformer_.run(picture_, shown.coverage, shown.crop, draw, hwc);
}

}  // namespace plimsoll
