#include "data/batch/picture_maker.h"

#include <algorithm>

#include "data/codec/codec.h"

namespace plimsoll {

PictureMaker::PictureMaker(const Source& source, const PipelineSettings& settings, Room& room,
                           MappedBytes& encoded)
    : source_(source),
      settings_(settings),
      room_(room),
      encoded_(encoded),
      decoder_(room),
      transformer_(settings.image, settings.channels, settings.interpolation, room) {}

Rect crop_for(const PipelineSettings& settings, const Draw& draw, Size image) {
  if (!draw.crop && settings.crop_to_aspect_ratio) return centred_crop(image, settings.image);
  return crop_of(draw, image);
}

CanvasPlacement PictureMaker::make_from_pixels(const Encoded& encoded, const Draw& draw,
                                               std::uint8_t* hwc) {
  const Encoded::Pixels& raw = *encoded.raw;
  const Size size{.height = raw.height, .width = raw.width};
  const auto* from = reinterpret_cast<const std::uint8_t*>(encoded.bytes.data());
  const std::size_t before = room_.used();
  const Rect crop = crop_for(settings_, draw, size);
  const CanvasPlacement placement{
      .image = size,
      .extent = extent_of({crop.height, crop.width}, settings_.image, settings_.fit)};
  RowSink& sink = transformer_.begin(1, size, crop, draw, hwc, placement.extent);
  sink.begin({.size = size, .channels = settings_.channels, .coverage = {}}, room_);
  for (std::int64_t y = 0; y < size.height; ++y) {
    std::uint8_t* to = sink.row(y);
    if (raw.channels == settings_.channels)
      std::copy_n(from, size.width * raw.channels, to);
    else if (raw.channels == 1)
      for (std::int64_t x = 0; x < size.width; ++x) std::fill_n(to + x * 3, 3, from[x]);
    else
      for (std::int64_t x = 0; x < size.width; ++x)
        to[x] = luma(from[3 * x], from[3 * x + 1], from[3 * x + 2]);
    from += size.width * raw.channels;
    sink.put(y);
  }
  room_.rewind(before);
  transformer_.finish();
  return placement;
}

CanvasPlacement PictureMaker::make_from_file(const Encoded& encoded, std::int64_t i,
                                             const Draw& draw, std::uint8_t* hwc) {
  try {
    const ImageInfo info = probe_image(encoded.bytes, {});
    DecodeRequest request{.channels = settings_.channels};
    const Rect crop = crop_for(settings_, draw, info.size());
    const CanvasPlacement placement{
        .image = info.size(),
        .extent = extent_of({crop.height, crop.width}, settings_.image, settings_.fit),
        .orientation = info.orientation};
    request.crop = crop;
    if (settings_.scaled_decoding) request.at_least = placement.extent;
    decoder_.decode(encoded.bytes, {}, info, request,
                    transformer_.begin(info.orientation, {info.stored_height, info.stored_width},
                                       crop, draw, hwc, placement.extent));
    transformer_.finish();
    return placement;
  } catch (const DataError& error) {
    // The place is put together only for those who will read it: a good picture allocates nothing.
    Complaint complaint = error.complaint();
    complaint.where.insert(0, source_.where(i));
    throw DataError(std::move(complaint));
  }
}

CanvasPlacement PictureMaker::make(std::int64_t i, std::int64_t epoch, std::uint8_t* hwc,
                                   Draw& draw) {
  draw = draw_augment(settings_.augment, settings_.seed, epoch, source_.number(i));
  const Encoded encoded = source_.read(i, encoded_);
  return encoded.raw ? make_from_pixels(encoded, draw, hwc) : make_from_file(encoded, i, draw, hwc);
}

}  // namespace plimsoll
