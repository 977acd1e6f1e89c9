// One sample of a source to one picture of the network's size.
#pragma once

#include <cstdint>
#include <vector>

#include "data/batch/pipeline.h"

namespace plimsoll {

// The part of an upright image that is shown.
Rect crop_for(const PipelineSettings& settings, const Draw& draw, Size image);

// Works in the memory of one worker; not thread-safe. Source, settings and memory must outlive it.
class PictureMaker {
 public:
  // `encoded` has room for the largest sample of the source.
  PictureMaker(const Source& source, const PipelineSettings& settings, Room& room,
               MappedBytes& encoded);

  // Writes sample i as it looks in `epoch` to `hwc`, and tells where it lies. DataError if it
  // cannot be read or decoded. Mixup is left to the caller: `draw` tells what is to be mixed in.
  CanvasPlacement make(std::int64_t i, std::int64_t epoch, std::uint8_t* hwc, Draw& draw);

 private:
  CanvasPlacement make_from_file(const Encoded& encoded, std::int64_t i, const Draw& draw,
                                 std::uint8_t* hwc);
  CanvasPlacement make_from_pixels(const Encoded& encoded, const Draw& draw, std::uint8_t* hwc);

  const Source& source_;
  const PipelineSettings& settings_;
  Room& room_;
  MappedBytes& encoded_;
  Decoder decoder_;
  Transformer transformer_;
};

}  // namespace plimsoll
