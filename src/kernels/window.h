// Sliding windows: which input cells an output cell reads, padding taken into account.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tensor/attrs.h"
#include "tensor/spec.h"

namespace plimsoll::kernels {

// a / b rounded up, for a >= 0; most divisors here are 1, and divisions are slow.
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return b == 1 ? a : (a + b - 1) / b;
}

struct Range {  // [first, last); may be empty
  std::int64_t first = 0;
  std::int64_t last = 0;
};

// One direction: output o reads inputs at(o, k) for taps k in [0, kernel); those outside [0, in)
// are padding.
struct Slide {
  std::int64_t in = 1;
  std::int64_t out = 1;
  std::int64_t kernel = 1;
  std::int64_t stride = 1;
  std::int64_t dilation = 1;
  std::int64_t before = 0;  // padding cells ahead of input 0

  std::int64_t at(std::int64_t o, std::int64_t k) const {
    return o * stride - before + k * dilation;
  }
  bool has(std::int64_t i) const { return i >= 0 && i < in; }

  // The taps of output o that read real cells.
  Range taps(std::int64_t o) const {
    const std::int64_t start = o * stride - before;
    const std::int64_t first = start < 0 ? ceil_div(-start, dilation) : 0;
    const std::int64_t last = start < in ? ceil_div(in - start, dilation) : 0;
    return {std::min(first, kernel), std::clamp(last, std::min(first, kernel), kernel)};
  }

  // The outputs whose tap k reads a real cell.
  Range outputs(std::int64_t k) const {
    const std::int64_t shift = before - k * dilation;  // o * stride must lie in [shift, in + shift)
    const std::int64_t first = shift > 0 ? ceil_div(shift, stride) : 0;
    const std::int64_t last = in + shift > 0 ? ceil_div(in + shift, stride) : 0;
    return {std::min(first, out), std::clamp(last, std::min(first, out), out)};
  }

  // The outputs all of whose taps read real cells.
  Range inner() const {
    const Range low = outputs(0), high = outputs(kernel - 1);
    const std::int64_t first = std::max(low.first, high.first);
    return {first, std::max(first, std::min(low.last, high.last))};
  }
};

struct Window {
  Slide h;
  Slide w;
};

// Reads strides, pads (top, left, bottom, right) and, where the op has them, dilations. `in` and
// `out` are shapes [N, C, H, W]; the attributes have been checked against them.
inline Window read_window(const Attrs& attrs, const Shape& in, const Shape& out,
                          std::int64_t kernel_h, std::int64_t kernel_w) {
  const Ints &strides = attrs.ints("strides"), &pads = attrs.ints("pads");
  Window window{
      {.in = in[2], .out = out[2], .kernel = kernel_h, .stride = strides[0], .before = pads[0]},
      {.in = in[3], .out = out[3], .kernel = kernel_w, .stride = strides[1], .before = pads[1]}};
  if (attrs.find("dilations") != nullptr) {
    window.h.dilation = attrs.ints("dilations")[0];
    window.w.dilation = attrs.ints("dilations")[1];
  }
  return window;
}

}  // namespace plimsoll::kernels
