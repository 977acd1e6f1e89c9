// The greatest cell of each window, and where in the window it was.
#include "kernels/max_pool.h"

#include "kernels/clear.h"
#include "ops/window.h"

namespace plimsoll::ops {
namespace {

using kernels::Range;
using kernels::Window;

constexpr std::int64_t kMostCells = 255;  // positions are bytes

void check_pool(const Attrs& attrs) {
  check_window(attrs);
  const Extent kernel = extent_of(attrs, "kernel");
  if (kernel.h * kernel.w > kMostCells)
    refuse("a window of " + std::to_string(kernel.h) + "x" + std::to_string(kernel.w),
           "at most 255 cells are allowed", "for the whole image use global_pool");
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
  Specs specs{blocked(x[0], x[1], out.h, out.w, in[0])};
  if (attrs.flag("positions"))
    specs.push_back(blocked(x[0], x[1], out.h, out.w, DType::u8, in[0].lanes));
  return specs;
}

Specs infer_grad(const Attrs& attrs, std::span<const Spec> in) {
  check_count(in, 2, 2);
  const Spec &dy = in[0], &positions = in[1];
  check_real_image(dy, "the output gradient");
  check_pool(attrs);
  const Extent size = extent_of(attrs, "input");
  check_windows(attrs, dy, size, extent_of(attrs, "kernel"));
  Spec bytes = dy;
  bytes.dtype = DType::u8;
  check_same(positions, bytes, "the tensor of positions");
  return {blocked(dy.shape[0], dy.shape[1], size.h, size.w, dy)};
}

Window window_of(const Attrs& attrs, const Shape& x, const Shape& y) {
  const Ints& kernel = attrs.ints("kernel");
  return kernels::read_window(attrs, x, y, kernel[0], kernel[1]);
}

void forward_ref(const Attrs& attrs, const Args& args) noexcept {
  const TensorView &x = args.in[0], &y = args.out[0];
  const Shape& shape = y.spec.shape;
  const Window window = window_of(attrs, x.spec.shape, shape);
  for (const TensorView& out : args.out) kernels::clear(out);
  for_real(x.spec.dtype, [&]<class T>(T) {
    for (std::int64_t n = 0; n < shape[0]; ++n)
      for (std::int64_t c = 0; c < shape[1]; ++c)
        for (std::int64_t oh = 0; oh < shape[2]; ++oh)
          for (std::int64_t ow = 0; ow < shape[3]; ++ow) {
            const Range rows = window.h.taps(oh), columns = window.w.taps(ow);
            T best = x.at<T>(n, c, window.h.at(oh, rows.first), window.w.at(ow, columns.first));
            std::int64_t tap = rows.first * window.w.kernel + columns.first;
            for (std::int64_t kh = rows.first; kh < rows.last; ++kh)
              for (std::int64_t kw = columns.first; kw < columns.last; ++kw) {
                const T value = x.at<T>(n, c, window.h.at(oh, kh), window.w.at(ow, kw));
                if (!(value > best)) continue;
                best = value;
                tap = kh * window.w.kernel + kw;
              }
            y.at<T>(n, c, oh, ow) = best;
            if (args.out.size() > 1)
              args.out[1].at<std::uint8_t>(n, c, oh, ow) = static_cast<std::uint8_t>(tap);
          }
  });
}

void grad_ref(const Attrs& attrs, const Args& args) noexcept {
  const TensorView &dy = args.in[0], &positions = args.in[1], &dx = args.out[0];
  const Shape& shape = dy.spec.shape;
  const Window window = window_of(attrs, dx.spec.shape, shape);
  kernels::clear(dx);
  for_real(dy.spec.dtype, [&]<class T>(T) {
    for (std::int64_t n = 0; n < shape[0]; ++n)
      for (std::int64_t c = 0; c < shape[1]; ++c)
        for (std::int64_t oh = 0; oh < shape[2]; ++oh)
          for (std::int64_t ow = 0; ow < shape[3]; ++ow) {
            const std::int64_t tap = positions.at<std::uint8_t>(n, c, oh, ow);
            const std::int64_t kh = tap / window.w.kernel;
            const std::int64_t ih = window.h.at(oh, kh),
                               iw = window.w.at(ow, tap % window.w.kernel);
            if (kh < window.h.kernel && window.h.has(ih) && window.w.has(iw))
              dx.at<T>(n, c, ih, iw) += dy.at<T>(n, c, oh, ow);
          }
  });
}

// Where the maxima were, one byte each, is all that backward keeps.
Values backward(const Backward& b) {
  if (b.node.out.size() < 2)
    refuse("positions=0", "a max_pool that is trained must keep positions", "set positions=1");
  Attrs attrs{{"input", image_size(b.graph.spec(b.in(0)))}};
  for (const char* name : {"kernel", "strides", "pads"}) attrs.set(name, b.node.attrs.ints(name));
  return {b.call1("max_pool_grad", {b.dy[0], b.out(1)}, attrs)};
}

std::vector<AttrSchema> schema() {
  return {{"kernel", Ints{3, 3}, "rows and columns of a window"},
          {"strides", Ints{2, 2}, "rows and columns from one window to the next"},
          {"pads", Ints{0, 0, 0, 0}, "cells that are never the maximum: top, left, bottom, right"}};
}

std::vector<AttrSchema> schema_with(AttrSchema one) {
  std::vector<AttrSchema> attrs = schema();
  attrs.push_back(std::move(one));
  return attrs;
}

struct Case {
  Spec x;
  Ints kernel, strides, pads;
};

std::vector<Case> cases() {
  return {{blocked(2, 10, 9, 9), {3, 3}, {2, 2}, {0, 0, 0, 0}},
          {blocked(1, 33, 8, 11), {3, 3}, {2, 2}, {0, 1, 1, 0}},
          {blocked(3, 13, 7, 6), {3, 3}, {1, 1}, {1, 1, 1, 1}},
          {blocked(1, 8, 10, 10), {3, 3}, {2, 2}, {1, 1, 1, 1}},
          {blocked(2, 16, 6, 8), {2, 2}, {2, 2}, {0, 0, 0, 0}},
          {blocked(2, 8, 9, 7), {2, 3}, {3, 1}, {1, 2, 0, 1}},
          {blocked(1, 10, 13, 12), {5, 5}, {1, 1}, {2, 2, 2, 2}},
          {blocked(1, 8, 1, 2), {3, 3}, {2, 2}, {1, 1, 1, 1}},
          {blocked(1, 8, 9, 9), {1, 2}, {4, 5}, {0, 1, 0, 0}}};
}

Attrs attrs_of(const Case& c) {
  return {{"kernel", c.kernel}, {"strides", c.strides}, {"pads", c.pads}};
}

std::vector<Sample> forward_samples() {
  std::vector<Sample> samples;
  for (const Case& c : cases())
    samples.push_back({.in = {{c.x}}, .attrs = with(attrs_of(c), "positions", std::int64_t{1})});
  samples.push_back({.in = {{blocked(2, 13, 9, 9)}}, .attrs = {{"positions", std::int64_t{0}}}});
  return samples;
}

std::vector<Sample> grad_samples() {
  std::vector<Sample> samples;
  for (const Case& c : cases()) {
    const Attrs attrs = with(attrs_of(c), "positions", std::int64_t{1});
    const Specs y = infer_forward(attrs, std::vector<Spec>{c.x});
    samples.push_back({.in = {{y[0]},
                              {.spec = y[1],
                               .fill = SampleInput::Fill::label,
                               .limit = c.kernel[0] * c.kernel[1]}},
                       .attrs = with(attrs_of(c), "input", image_size(c.x))});
  }
  return samples;
}

}  // namespace

extern const OpFamily max_pool;
const OpFamily max_pool{{
    {.name = "max_pool",
     .doc =
         "The greatest cell of each window; the second output says which cell it was, the first of "
         "equals.",
     .attrs = schema_with({"positions", std::int64_t{1}, "1: also say where the maxima were"}),
     .infer = infer_forward,
     .backward = backward,
     .cheap_to_repeat = true,
     .framework_holds = FrameworkHolds::input_and_positions,
     .cost = pass_over<9>,
     .kernels = {{"simd", plain_job<kernels::max_pool>, kShort},
                 {"ref", plain_job<forward_ref>, kAnyReal}},
     .samples = forward_samples()},
    {.name = "max_pool_grad",
     .doc = "Hands each window's gradient to the cell that was its maximum.",
     .attrs = schema_with({"input", Ints{1, 1}, "rows and columns of the input"}),
     .infer = infer_grad,
     .cost = pass_over<3>,
     .kernels = {{"simd", plain_job<kernels::max_pool_grad>, kShort},
                 {"ref", plain_job<grad_ref>, kAnyReal}},
     .samples = grad_samples()},
}};

}  // namespace plimsoll::ops
