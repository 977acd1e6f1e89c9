// The sigmoid focal loss of blocks of class scores, computed in f32.
#pragma once

#include <cstdint>

#include "base/bf16.h"

namespace plimsoll::kernels {

struct FocalRule {
  bool focuses = true;  // gamma is 2; else 0
  float positive = 1;   // what a score weighs whose anchor found its class
  float negative = 1;   // and any other
};

// One block of channels of an image, channel anchor * classes + class.
template <class T>
struct FocalBlock {
  std::int64_t lanes = 8;
  const T* x = nullptr;  // [cells][lanes]
  T* slopes = nullptr;   // as x, perhaps the same memory
  std::int64_t cells = 0;
  std::int64_t first_channel = 0;
  std::int64_t channels = 0;  // of the image; lanes beyond get slope 0
  std::int64_t classes = 1;
  const std::int32_t* match = nullptr;   // [anchors][cells]: a box, -1 (none) or -2 (not counted)
  const std::int32_t* labels = nullptr;  // of the boxes; null: all are of class 0
  std::int64_t boxes = 0;                // how many labels there are
  float weight = 1;                      // of the slopes
};

// The sum of the losses, which are not weighted, added cell by cell in f64; NaN where a match or a
// label cannot be. Slopes are written for all cells.
double focal_loss(const FocalRule& rule, const FocalBlock<float>& block) noexcept;
double focal_loss(const FocalRule& rule, const FocalBlock<Bf16>& block) noexcept;

}  // namespace plimsoll::kernels
