// What convolutions of each channel by itself have in common, whatever is done to their input.
#pragma once

#include <vector>

#include "ops/window.h"

namespace plimsoll::ops {

inline Spec depth_kernel_spec(const Spec& x, Extent kernel) {
  return {.dtype = x.dtype,
          .shape = {x.shape[1], 1, kernel.h, kernel.w},
          .layout = Layout::depth_kernel};
}

inline void check_depth_kernel(const Spec& x, const Spec& w) {
  if (w.shape.rank() != 4) refuse("weights are " + to_string(w), "a tensor [C,1,H,W] is needed");
  check_same(w, depth_kernel_spec(x, {w.shape[2], w.shape[3]}), "the weight tensor");
}

inline std::vector<AttrSchema> depthwise_schema() {
  return {{"strides", Ints{1, 1}, "rows and columns from one window to the next"},
          {"pads", Ints{0, 0, 0, 0}, "rows and columns of zeros: top, left, bottom, right"},
          {"dilations", Ints{1, 1}, "rows and columns from one tap of a window to the next"}};
}

// `w` is the kernel and `y` the output, wherever among the operands they are.
inline Cost depthwise_cost(const Attrs& attrs, std::span<const Spec> in, std::span<const Spec> out,
                           const Spec& w, const Spec& y) {
  Cost cost = pass_over<0>(attrs, in, out);
  cost.flops =
      2.0 * static_cast<double>(w.shape[2] * w.shape[3]) * static_cast<double>(y.shape.elements());
  return cost;
}

// body(n, c, oh, ow, kh, kw, ih, iw) for every product.
template <class Body>
void for_each_product(const Attrs& attrs, const Shape& x, const Shape& w, const Shape& y,
                      Body body) {
  const kernels::Window window = kernels::read_window(attrs, x, y, w[2], w[3]);
  for (std::int64_t n = 0; n < y[0]; ++n)
    for (std::int64_t c = 0; c < y[1]; ++c)
      for (std::int64_t kh = 0; kh < w[2]; ++kh)
        for (std::int64_t kw = 0; kw < w[3]; ++kw) {
          const kernels::Range rows = window.h.outputs(kh), columns = window.w.outputs(kw);
          for (std::int64_t oh = rows.first; oh < rows.last; ++oh)
            for (std::int64_t ow = columns.first; ow < columns.last; ++ow)
              body(n, c, oh, ow, kh, kw, window.h.at(oh, kh), window.w.at(ow, kw));
        }
}

}  // namespace plimsoll::ops
