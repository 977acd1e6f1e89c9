// One sample of a source to one picture of the network's size.
#pragma once

#include <cstdint>
#include <vector>

#include "data/pipeline.h"

namespace plimsoll {

// Has the buffers of one worker; not thread-safe. Source and settings must outlive it.
class PictureMaker {
 public:
  PictureMaker(const Source& source, const PipelineSettings& settings, const LargestImage& largest);

  // Writes sample i as it looks in `epoch` to `hwc`. DataError if it cannot be read or decoded.
  // Mixup is left to the caller: `draw` tells what is to be mixed in.
  void make(std::int64_t i, std::int64_t epoch, std::uint8_t* hwc, Draw& draw);

 private:
  // Fills picture_; what is wanted of the image is returned.
  struct Shown {
    Coverage coverage;
    Rect crop;
  };
  Shown decode(const Encoded& encoded, std::int64_t i, const Draw& draw);
  void take_raw(const Encoded& encoded);
  Rect crop_for(const Draw& draw, Size image) const;

  const Source& source_;
  const PipelineSettings& settings_;
  LargestImage largest_;
  Decoder decoder_;
  Transformer transformer_;
  std::vector<std::byte> buffer_;
  Picture picture_;
};

}  // namespace plimsoll
