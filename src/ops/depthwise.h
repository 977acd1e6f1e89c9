// What convolutions of each channel by itself have in common, whatever is done to their input.
#pragma once

#include <vector>

#include "ops/window.h"

namespace plimsoll::ops {

inline Spec depth_kernel_spec(const Spec& x, Extent kernel) {
  return {.dtype = widened(x.dtype),
          .shape = {x.shape[1], 1, kernel.h, kernel.w},
          .layout = Layout::depth_kernel,
          .lanes = x.lanes};
}

inline void check_depth_kernel(const Spec& x, const Spec& w) {
  if (w.shape.rank() != 4) refuse("weights are " + to_string(w), "a tensor [C,1,H,W] is needed");
  check_same(w, depth_kernel_spec(x, {w.shape[2], w.shape[3]}), "the weight tensor");
}

// What x convolved with w is.
inline Spec depthwise_output(const Attrs& attrs, const Spec& x, const Spec& w) {
  check_real_image(x, "input");
  check_depth_kernel(x, w);
  const Extent out = count_windows(attrs, {x.shape[2], x.shape[3]}, {w.shape[2], w.shape[3]});
  return blocked(x.shape[0], x.shape[1], out.h, out.w, x);
}

// What the weights' gradient is; the attribute `kernel` has their size.
inline Spec depthwise_kernel_gradient(const Attrs& attrs, const Spec& x, const Spec& dy) {
  check_real_image(x, "input");
  check_real_image(dy, "the output gradient");
  const Extent kernel = extent_of(attrs, "kernel");
  check_windows(attrs, dy, {x.shape[2], x.shape[3]}, kernel);
  check_same(dy, blocked(x.shape[0], x.shape[1], dy.shape[2], dy.shape[3], x),
             "the output gradient");
  return depth_kernel_spec(x, kernel);
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

inline Cost depthwise_forward_cost(const Attrs& attrs, std::span<const Spec> in,
                                   std::span<const Spec> out) {
  return depthwise_cost(attrs, in, out, in[1], out[0]);
}
inline Cost depthwise_kernel_cost(const Attrs& attrs, std::span<const Spec> in,
                                  std::span<const Spec> out) {
  return depthwise_cost(attrs, in, out, out[0], in[1]);
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
