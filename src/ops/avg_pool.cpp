// The mean of each window; cells of padding do not count.
#include "kernels/avg_pool.h"

#include "kernels/clear.h"
#include "ops/window.h"

namespace plimsoll::ops {
namespace {

using kernels::Range;
using kernels::Window;

void check_pool(const Attrs& attrs) {
  check_window(attrs);
  const Extent kernel = extent_of(attrs, "kernel");
  const Ints& pads = attrs.ints("pads");
  if (std::max(pads[0], pads[2]) >= kernel.h || std::max(pads[1], pads[3]) >= kernel.w)
    refuse("pads " + to_string(AttrValue(pads)), "padding smaller than the window is needed");
}

Specs infer_forward(const Attrs& attrs, std::span<const Spec> in) {
  check_count(in, 1, 1);
  check_real_image(in[0]);
  check_pool(attrs);
  const Shape& x = in[0].shape;
  const Extent out = count_windows(attrs, {x[2], x[3]}, extent_of(attrs, "kernel"));
  return {blocked(x[0], x[1], out.h, out.w, in[0])};
}

Specs infer_grad(const Attrs& attrs, std::span<const Spec> in) {
  check_count(in, 1, 1);
  const Spec& dy = in[0];
  check_real_image(dy, "the output gradient");
  check_pool(attrs);
  const Extent size = extent_of(attrs, "input");
  check_windows(attrs, dy, size, extent_of(attrs, "kernel"));
  return {blocked(dy.shape[0], dy.shape[1], size.h, size.w, dy)};
}

// body(n, c, oh, ow, ih, iw, real cells of the window) for every real cell of every window.
template <class Body>
void for_each_cell(const Attrs& attrs, const Shape& x, const Shape& y, Body body) {
  const Ints& kernel = attrs.ints("kernel");
  const Window window = kernels::read_window(attrs, x, y, kernel[0], kernel[1]);
  for (std::int64_t n = 0; n < y[0]; ++n)
    for (std::int64_t c = 0; c < y[1]; ++c)
      for (std::int64_t oh = 0; oh < y[2]; ++oh)
        for (std::int64_t ow = 0; ow < y[3]; ++ow) {
          const Range rows = window.h.taps(oh), columns = window.w.taps(ow);
          const std::int64_t cells = (rows.last - rows.first) * (columns.last - columns.first);
          for (std::int64_t kh = rows.first; kh < rows.last; ++kh)
            for (std::int64_t kw = columns.first; kw < columns.last; ++kw)
              body(n, c, oh, ow, window.h.at(oh, kh), window.w.at(ow, kw), cells);
        }
}

void forward_ref(const Attrs& attrs, const Args& args) noexcept {
  const TensorView &x = args.in[0], &y = args.out[0];
  kernels::clear(y);
  for_real(x.spec.dtype, [&]<class T>(T) {
    for_each_cell(attrs, x.spec.shape, y.spec.shape,
                  [&](auto n, auto c, auto oh, auto ow, auto ih, auto iw, auto cells) {
                    y.at<T>(n, c, oh, ow) += x.at<T>(n, c, ih, iw) / static_cast<T>(cells);
                  });
  });
}

void grad_ref(const Attrs& attrs, const Args& args) noexcept {
  const TensorView &dy = args.in[0], &dx = args.out[0];
  kernels::clear(dx);
  for_real(dy.spec.dtype, [&]<class T>(T) {
    for_each_cell(attrs, dx.spec.shape, dy.spec.shape,
                  [&](auto n, auto c, auto oh, auto ow, auto ih, auto iw, auto cells) {
                    dx.at<T>(n, c, ih, iw) += dy.at<T>(n, c, oh, ow) / static_cast<T>(cells);
                  });
  });
}

Values backward(const Backward& b) {
  return {b.call1("avg_pool_grad", {b.dy[0]},
                  with(b.node.attrs, "input", image_size(b.graph.spec(b.in(0)))))};
}

std::vector<AttrSchema> schema() {
  return {{"kernel", Ints{3, 3}, "rows and columns of a window"},
          {"strides", Ints{1, 1}, "rows and columns from one window to the next"},
          {"pads", Ints{0, 0, 0, 0}, "cells that do not count: top, left, bottom, right"}};
}

std::vector<AttrSchema> grad_schema() {
  std::vector<AttrSchema> attrs = schema();
  attrs.push_back({"input", Ints{1, 1}, "rows and columns of the input"});
  return attrs;
}

struct Case {
  Spec x;
  Ints kernel, strides, pads;
};

std::vector<Case> cases() {
  return {{blocked(2, 10, 7, 7), {3, 3}, {1, 1}, {1, 1, 1, 1}},
          {blocked(1, 33, 9, 8), {3, 3}, {2, 2}, {0, 1, 1, 0}},
          {blocked(3, 13, 8, 6), {2, 2}, {2, 2}, {0, 0, 0, 0}},
          {blocked(1, 8, 17, 17), {5, 5}, {3, 3}, {0, 0, 0, 0}},
          {blocked(2, 8, 6, 9), {1, 4}, {1, 2}, {0, 1, 0, 3}},
          {blocked(1, 8, 2, 1), {3, 3}, {1, 1}, {1, 1, 1, 1}}};
}

Attrs attrs_of(const Case& c) {
  return {{"kernel", c.kernel}, {"strides", c.strides}, {"pads", c.pads}};
}

std::vector<Sample> forward_samples() {
  std::vector<Sample> samples;
  for (const Case& c : cases()) samples.push_back({.in = {{c.x}}, .attrs = attrs_of(c)});
  return samples;
}

std::vector<Sample> grad_samples() {
  std::vector<Sample> samples;
  for (const Case& c : cases())
    samples.push_back({.in = {{infer_forward(attrs_of(c), std::vector<Spec>{c.x})[0]}},
                       .attrs = with(attrs_of(c), "input", image_size(c.x))});
  return samples;
}

}  // namespace

extern const OpFamily avg_pool;
const OpFamily avg_pool{{
    {.name = "avg_pool",
     .doc = "The mean of the real cells of each window.",
     .attrs = schema(),
     .infer = infer_forward,
     .backward = backward,
     .cheap_to_repeat = true,
     .cost = pass_over<9>,
     .kernels = {{"simd", plain_job<kernels::avg_pool>, kShort},
                 {"ref", plain_job<forward_ref>, kAnyReal}},
     .samples = forward_samples()},
    {.name = "avg_pool_grad",
     .doc = "Spreads each window's gradient evenly over its real cells.",
     .attrs = grad_schema(),
     .infer = infer_grad,
     .cost = pass_over<9>,
     .kernels = {{"simd", kernels::prepare_avg_pool_grad, kShort},
                 {"ref", plain_job<grad_ref>, kAnyReal}},
     .samples = grad_samples()},
}};

}  // namespace plimsoll::ops
