// Every s-th cell of an image, and back: a strided 1x1 convolution is a dense one over these cells.
#pragma once

#include <cstdint>

#include "base/bf16.h"

namespace plimsoll::kernels {

// `planes` planes of H x W cells of `lanes` lanes, of which a 1x1 window with these strides sees
// ceil(H / stride_h) x ceil(W / stride_w).
struct Grid {
  std::int64_t lanes = 8;
  std::int64_t planes = 1;
  std::int64_t height = 1;
  std::int64_t width = 1;
  std::int64_t stride_h = 1;
  std::int64_t stride_w = 1;

  std::int64_t seen_h() const { return (height + stride_h - 1) / stride_h; }
  std::int64_t seen_w() const { return (width + stride_w - 1) / stride_w; }
};

// `few` gets the cells of `all` that are seen.
void subsample(const Grid& grid, const float* all, float* few) noexcept;
void subsample(const Grid& grid, const Bf16* all, float* few) noexcept;
// `all` gets the cells of `few` where they were seen and zero elsewhere.
void scatter(const Grid& grid, const float* few, float* all) noexcept;
void scatter(const Grid& grid, const float* few, Bf16* all) noexcept;

}  // namespace plimsoll::kernels
