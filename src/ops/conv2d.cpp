// y = x convolved with w, plus a bias per filter: the workhorse. Strides, explicit padding,
// dilation, groups.
#include "kernels/clear.h"
#include "kernels/direct_convolution.h"
#include "kernels/onednn/convolution.h"
#include "kernels/tiled_convolution.h"
#include "ops/window.h"
#include "tensor/conv_layout.h"

namespace plimsoll::ops {
namespace {

using kernels::Window;

void check_input(const Attrs& attrs, const Spec& x, std::int64_t filters) {
  const std::int64_t groups = attrs.integer("groups");
  if (x.shape.rank() != 4 || (x.layout != Layout::blocked && x.layout != Layout::plain))
    refuse("input is " + to_string(x), "an image tensor [N,C,H,W] is needed");
  check_real(x);
  if (x.layout == Layout::plain && (x.shape[1] > kMostPlainChannels || groups != 1))
    refuse("input is " + to_string(x) + " with groups=" + std::to_string(groups),
           "a plain image has at most " + std::to_string(kMostPlainChannels) +
               " channels and one group",
           "block the input first");
  if (groups < 1 || x.shape[1] % groups != 0 || filters % groups != 0)
    refuse("groups=" + std::to_string(groups) + " over " + std::to_string(x.shape[1]) +
               " channels and " + std::to_string(filters) + " filters",
           "groups must divide both");
}

void check_kernel(const Attrs& attrs, const Spec& x, const Spec& w) {
  if (w.shape.rank() != 4) refuse("weights are " + to_string(w), "a tensor [O,I,H,W] is needed");
  check_input(attrs, x, w.shape[0]);
  check_same(
      w, conv_kernel_spec(x, w.shape[0], w.shape[2], w.shape[3], attrs.integer("groups"), w.lanes),
      "the weight tensor");
}

Specs infer_forward(const Attrs& attrs, std::span<const Spec> in) {
  check_count(in, 2, 3);
  const Spec &x = in[0], &w = in[1];
  check_kernel(attrs, x, w);
  if (in.size() == 3) check_same(in[2], plain({w.shape[0]}, widened(x.dtype)), "the bias");
  const Extent out = count_windows(attrs, {x.shape[2], x.shape[3]}, {w.shape[2], w.shape[3]});
  const std::int64_t lanes = x.layout == Layout::blocked ? x.lanes : w.lanes;
  return {blocked(x.shape[0], w.shape[0], out.h, out.w, x.dtype, lanes)};
}

Specs infer_grad_input(const Attrs& attrs, std::span<const Spec> in) {
  check_count(in, 2, 2);
  const Spec &dy = in[0], &w = in[1];
  check_real_image(dy, "the output gradient");
  if (w.shape.rank() != 4) refuse("weights are " + to_string(w), "a tensor [O,I,H,W] is needed");
  const Extent size = extent_of(attrs, "input");
  check_windows(attrs, dy, size, {w.shape[2], w.shape[3]});
  const Spec dx = blocked(dy.shape[0], w.shape[1] * attrs.integer("groups"), size.h, size.w, dy);
  check_kernel(attrs, dx, w);
  if (dy.shape[1] != w.shape[0])
    refuse("the output gradient is " + to_string(dy),
           std::to_string(w.shape[0]) + " channels are needed");
  return {dx};
}

Specs infer_grad_kernel(const Attrs& attrs, std::span<const Spec> in) {
  check_count(in, 2, 2);
  const Spec &x = in[0], &dy = in[1];
  check_real_image(dy, "the output gradient");
  check_input(attrs, x, dy.shape[1]);
  const std::int64_t lanes = x.layout == Layout::blocked ? x.lanes : dy.lanes;
  check_same(dy, blocked(x.shape[0], dy.shape[1], dy.shape[2], dy.shape[3], x.dtype, lanes),
             "the output gradient");
  const Extent kernel = extent_of(attrs, "kernel");
  check_windows(attrs, dy, {x.shape[2], x.shape[3]}, kernel);
  return {conv_kernel_spec(x, dy.shape[1], kernel.h, kernel.w, attrs.integer("groups"), lanes)};
}

// Visits every product of the convolution: body(n, o, oh, ow, channel of x, channel of w, kh, kw,
// ih, iw), the two loops outside being the first two.
template <class Body>
void for_each_product(const Attrs& attrs, const Spec& x, const Spec& w, const Spec& y,
                      std::int64_t n, std::int64_t o, Body body) {
  const Window window = kernels::read_window(attrs, x.shape, y.shape, w.shape[2], w.shape[3]);
  const std::int64_t group = o / (w.shape[0] / attrs.integer("groups"));
  for (std::int64_t c = 0; c < w.shape[1]; ++c)
    for (std::int64_t kh = 0; kh < window.h.kernel; ++kh)
      for (std::int64_t kw = 0; kw < window.w.kernel; ++kw) {
        const kernels::Range rows = window.h.outputs(kh), columns = window.w.outputs(kw);
        for (std::int64_t oh = rows.first; oh < rows.last; ++oh)
          for (std::int64_t ow = columns.first; ow < columns.last; ++ow)
            body(n, o, oh, ow, group * w.shape[1] + c, c, kh, kw, window.h.at(oh, kh),
                 window.w.at(ow, kw));
      }
}

void forward_ref(const Attrs& attrs, const Args& args) noexcept {
  const TensorView &x = args.in[0], &w = args.in[1], &y = args.out[0];
  kernels::clear(y);
  for_real(x.spec.dtype, [&]<class T>(T) {
#pragma omp parallel for collapse(2)
    for (std::int64_t n = 0; n < y.spec.shape[0]; ++n)
      for (std::int64_t o = 0; o < y.spec.shape[1]; ++o) {
        if (args.in.size() > 2)
          for (std::int64_t oh = 0; oh < y.spec.shape[2]; ++oh)
            for (std::int64_t ow = 0; ow < y.spec.shape[3]; ++ow)
              y.at<T>(n, o, oh, ow) = args.in[2].at<T>(o);
        for_each_product(attrs, x.spec, w.spec, y.spec, n, o,
                         [&](auto, auto, auto oh, auto ow, auto ic, auto wc, auto kh, auto kw,
                             auto ih, auto iw) {
                           y.at<T>(n, o, oh, ow) += x.at<T>(n, ic, ih, iw) * w.at<T>(o, wc, kh, kw);
                         });
      }
  });
}

void grad_input_ref(const Attrs& attrs, const Args& args) noexcept {
  const TensorView &dy = args.in[0], &w = args.in[1], &dx = args.out[0];
  kernels::clear(dx);
  for_real(dy.spec.dtype, [&]<class T>(T) {
#pragma omp parallel for
    for (std::int64_t n = 0; n < dy.spec.shape[0]; ++n)
      for (std::int64_t o = 0; o < dy.spec.shape[1]; ++o)
        for_each_product(attrs, dx.spec, w.spec, dy.spec, n, o,
                         [&](auto, auto, auto oh, auto ow, auto ic, auto wc, auto kh, auto kw,
                             auto ih, auto iw) {
                           dx.at<T>(n, ic, ih, iw) +=
                               dy.at<T>(n, o, oh, ow) * w.at<T>(o, wc, kh, kw);
                         });
  });
}

void grad_kernel_ref(const Attrs& attrs, const Args& args) noexcept {
  const TensorView &x = args.in[0], &dy = args.in[1], &dw = args.out[0];
  kernels::clear(dw);
  for_real(dy.spec.dtype, [&]<class T>(T) {
#pragma omp parallel for
    for (std::int64_t o = 0; o < dy.spec.shape[1]; ++o)
      for (std::int64_t n = 0; n < dy.spec.shape[0]; ++n)
        for_each_product(attrs, x.spec, dw.spec, dy.spec, n, o,
                         [&](auto, auto, auto oh, auto ow, auto ic, auto wc, auto kh, auto kw,
                             auto ih, auto iw) {
                           dw.at<T>(o, wc, kh, kw) +=
                               x.at<T>(n, ic, ih, iw) * dy.at<T>(n, o, oh, ow);
                         });
  });
}

// The kernel's gradient first: x, which only it reads, can die before dx is born.
Values backward(const Backward& b) {
  Values grads = b.none();
  const Attrs& attrs = b.node.attrs;
  if (b.wants[1])
    grads[1] = b.call1("conv2d_grad_kernel", {b.in(0), b.dy[0]},
                       with(attrs, "kernel", image_size(b.graph.spec(b.in(1)))));
  if (b.node.in.size() > 2 && b.wants[2]) grads[2] = b.call1("channel_sum", {b.dy[0]});
  if (b.wants[0])
    grads[0] = b.call1("conv2d_grad_input", {b.dy[0], b.in(1)},
                       with(attrs, "input", image_size(b.graph.spec(b.in(0)))));
  return grads;
}

Cost cost_of(const Attrs& attrs, std::span<const Spec> in, std::span<const Spec> out, const Spec& w,
             const Spec& y) {
  Cost cost = pass_over<0>(attrs, in, out);
  cost.flops = 2.0 * static_cast<double>(w.shape.elements()) *
               static_cast<double>(y.shape[0] * y.shape[2] * y.shape[3]);
  return cost;
}

Cost cost_forward(const Attrs& attrs, std::span<const Spec> in, std::span<const Spec> out) {
  return cost_of(attrs, in, out, in[1], out[0]);
}
Cost cost_grad_input(const Attrs& attrs, std::span<const Spec> in, std::span<const Spec> out) {
  return cost_of(attrs, in, out, in[1], in[0]);
}
Cost cost_grad_kernel(const Attrs& attrs, std::span<const Spec> in, std::span<const Spec> out) {
  return cost_of(attrs, in, out, out[0], in[1]);
}

std::vector<AttrSchema> schema() {
  return {{"strides", Ints{1, 1}, "rows and columns from one window to the next"},
          {"pads", Ints{0, 0, 0, 0}, "rows and columns of zeros: top, left, bottom, right"},
          {"dilations", Ints{1, 1}, "rows and columns from one tap of a window to the next"},
          {"groups", std::int64_t{1},
           "channels and filters fall into this many separate convolutions"}};
}

std::vector<AttrSchema> schema_with(const char* name, const char* doc) {
  std::vector<AttrSchema> attrs = schema();
  attrs.push_back({name, Ints{1, 1}, doc});
  return attrs;
}

struct Case {
  Spec x;
  std::int64_t filters, kh, kw;
  Attrs attrs = {};
  bool bias = false;
};

std::vector<Case> cases() {
  const auto window = [](Ints strides, Ints pads, Ints dilations = {1, 1},
                         std::int64_t groups = 1) {
    return Attrs{
        {"strides", strides}, {"pads", pads}, {"dilations", dilations}, {"groups", groups}};
  };
  return {
      {blocked(2, 16, 9, 9), 24, 3, 3, window({1, 1}, {1, 1, 1, 1})},
      {blocked(3, 10, 9, 7), 33, 3, 3, window({1, 1}, {1, 1, 1, 1}), true},
      {blocked(1, 33, 11, 11), 13, 3, 3, window({2, 2}, {0, 0, 0, 0}), true},
      {blocked(2, 8, 11, 8), 16, 3, 3, window({2, 2}, {0, 1, 1, 0})},
      {blocked(2, 13, 7, 9), 10, 3, 3, window({1, 1}, {2, 2, 2, 2}, {2, 2})},
      {blocked(2, 24, 9, 9), 16, 1, 7, window({1, 1}, {0, 3, 0, 3})},
      {blocked(2, 24, 9, 9), 16, 7, 1, window({1, 1}, {3, 0, 3, 0})},
      {blocked(1, 48, 7, 7), 64, 5, 5, window({1, 1}, {2, 2, 2, 2})},
      // Enough tiles for the algorithms that work on those; edges that cut them, filters in odd
      // blocks, padding on one side.
      {blocked(4, 24, 13, 10), 40, 3, 3, window({1, 1}, {0, 1, 2, 1}), true},
      {blocked(9, 17, 6, 6), 24, 3, 3, window({1, 1}, {0, 0, 0, 0})},
      {blocked(6, 16, 9, 11), 24, 5, 5, window({1, 1}, {2, 2, 2, 2})},
      {blocked(2, 24, 9, 14), 40, 1, 7, window({1, 1}, {0, 3, 0, 3}), true},
      {blocked(2, 33, 14, 9), 24, 7, 1, window({1, 1}, {3, 0, 3, 0})},
      {blocked(3, 32, 8, 9), 24, 3, 1, window({1, 1}, {1, 0, 1, 0})},
      {blocked(2, 32, 8, 8), 24, 1, 3, window({1, 1}, {0, 1, 0, 1})},
      {blocked(3, 40, 6, 5), 24, 1, 1, window({1, 1}, {0, 0, 0, 0}), true},
      {blocked(2, 256, 5, 5), 136, 1, 1, window({1, 1}, {0, 0, 0, 0})},
      {blocked(3, 13, 9, 9), 24, 1, 1, window({2, 2}, {0, 0, 0, 0})},
      {blocked(1, 16, 8, 8), 32, 1, 1, window({2, 2}, {0, 0, 0, 0}), true},
      {blocked(2, 16, 7, 8), 8, 1, 1, window({2, 3}, {0, 0, 0, 0})},
      {blocked(2, 8, 5, 5), 8, 1, 1, window({1, 1}, {1, 1, 0, 0})},
      {blocked(2, 32, 7, 7), 48, 3, 3, window({1, 1}, {1, 1, 1, 1}, {1, 1}, 2)},
      {blocked(2, 16, 7, 7), 32, 3, 3, window({2, 2}, {1, 1, 1, 1}, {1, 1}, 2), true},
      {blocked(2, 12, 5, 5), 9, 3, 3, window({1, 1}, {1, 1, 1, 1}, {1, 1}, 3), true},
      {blocked(1, 8, 7, 7), 8, 3, 3, window({1, 2}, {1, 1, 1, 1})},
      {blocked(1, 8, 9, 9), 8, 3, 3, window({2, 2}, {0, 0, 0, 0}, {2, 2})},
      {plain({3, 3, 11, 11}), 32, 3, 3, window({2, 2}, {0, 0, 0, 0})},
      {plain({2, 3, 9, 10}), 10, 7, 7, window({2, 2}, {2, 3, 3, 2}), true},
      {plain({2, 1, 7, 7}), 8, 3, 3, window({1, 1}, {1, 1, 1, 1})},
      {plain({1, 4, 7, 5}), 16, 3, 3, window({1, 1}, {0, 1, 2, 0})},
  };
}

Spec weights_of(const Case& c) {
  return conv_kernel_spec(c.x, c.filters, c.kh, c.kw, c.attrs.integer("groups"));
}
Spec output_of(const Case& c) {
  return infer_forward(c.attrs, std::vector<Spec>{c.x, weights_of(c)})[0];
}

std::vector<Sample> forward_samples() {
  std::vector<Sample> samples;
  for (const Case& c : cases()) {
    Sample sample{.in = {{c.x}, {weights_of(c)}}, .attrs = c.attrs};
    if (c.bias) sample.in.push_back({plain({c.filters})});
    samples.push_back(sample);
  }
  return samples;
}

std::vector<Sample> grad_input_samples() {
  std::vector<Sample> samples;
  for (const Case& c : cases())
    if (c.x.layout == Layout::blocked)
      samples.push_back({.in = {{output_of(c)}, {weights_of(c)}},
                         .attrs = with(c.attrs, "input", image_size(c.x))});
  return samples;
}

std::vector<Sample> grad_kernel_samples() {
  std::vector<Sample> samples;
  for (const Case& c : cases())
    samples.push_back(
        {.in = {{c.x}, {output_of(c)}}, .attrs = with(c.attrs, "kernel", Ints{c.kh, c.kw})});
  return samples;
}

// In the order in which they are taken. Products of bf16 are twice as fast as those of f32: tiles,
// which save as much and more where sums are long, are left with the weights' gradient.
constexpr KernelTraits kOwn{.slices = false, .bf16 = TakesBf16::yes};
constexpr KernelTraits kOnednn{.slices = false, .bf16 = TakesBf16::yes, .compiles = true};
constexpr KernelTraits kOnednnShort{
    .slices = false, .bf16 = TakesBf16::yes, .shortens = true, .compiles = true};

}  // namespace

extern const OpFamily conv2d;
const OpFamily conv2d{{
    {.name = "conv2d",
     .doc =
         "Convolution of images with a set of filters, and a bias per filter where one is given.",
     .attrs = schema(),
     .infer = infer_forward,
     .backward = backward,
     .arithmetic = Arithmetic::forward,
     .joins_filters = true,
     .absorbs = {.padding = true},
     .framework_holds = FrameworkHolds::input,
     .cost = cost_forward,
     .kernels = {{"onednn_bf16", kernels::onednn::prepare_short_forward, kOnednnShort},
                 {"winograd", kernels::prepare_tiled_forward, kOwn},
                 {"strassen", kernels::prepare_strassen_forward, kOwn},
                 {"onednn", kernels::onednn::prepare_forward, kOnednn},
                 {"simd", kernels::prepare_direct_forward, kOwn},
                 {"ref", plain_job<forward_ref>, kAnyReal}},
     .samples = forward_samples()},
    {.name = "conv2d_grad_input",
     .doc = "The gradient of a convolution's input, from the output's gradient and the weights.",
     .attrs = schema_with("input", "rows and columns of the input"),
     .infer = infer_grad_input,
     .arithmetic = Arithmetic::grad_input,
     .cost = cost_grad_input,
     .kernels = {{"onednn_bf16", kernels::onednn::prepare_short_grad_input, kOnednnShort},
                 {"winograd", kernels::prepare_tiled_grad_input, kOwn},
                 {"strassen", kernels::prepare_strassen_grad_input, kOwn},
                 {"onednn", kernels::onednn::prepare_grad_input, kOnednn},
                 {"simd", kernels::prepare_direct_grad_input, kOwn},
                 {"ref", plain_job<grad_input_ref>, kAnyReal}},
     .samples = grad_input_samples()},
    {.name = "conv2d_grad_kernel",
     .doc = "The gradient of a convolution's weights, from the input and the output's gradient.",
     .attrs = schema_with("kernel", "rows and columns of the weights"),
     .infer = infer_grad_kernel,
     .arithmetic = Arithmetic::grad_weights,
     .cost = cost_grad_kernel,
     .kernels = {{"winograd", kernels::prepare_tiled_grad_kernel, kOwn},
                 {"strassen", kernels::prepare_strassen_grad_kernel, kOwn},
                 {"simd_point", kernels::prepare_point_grad_kernel, kOwn},
                 {"onednn_bf16", kernels::onednn::prepare_short_grad_kernel, kOnednnShort},
                 {"onednn", kernels::onednn::prepare_grad_kernel, kOnednn},
                 {"simd", kernels::prepare_direct_grad_kernel, kOwn},
                 {"ref", plain_job<grad_kernel_ref>, kAnyReal}},
     .samples = grad_kernel_samples()},
}};

}  // namespace plimsoll::ops
